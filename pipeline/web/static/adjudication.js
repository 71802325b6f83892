// Keeps the adjudicator's form as it is written, counts the seconds somebody is at work on it, and takes keys.
import { Keys } from "./keys.js";

const form = document.getElementById("adjudication");
const saved = document.getElementById("saved");
const IDLE_MS = Number(form.dataset.idle) * 1000;
const BEAT_MS = 30_000;
const QUIET_MS = 1_500;
let lastAct = performance.now();
let lastKept = performance.now();
let waiting = 0;
let keeping = null;

// Without a script nobody counts, and the server goes by when forms come.
form.elements.seconds.value = form.dataset.seconds;
document.getElementById("problems")?.focus();

function act() {
  const now = performance.now();
  const pause = now - lastAct;
  lastAct = now;
  if (pause < IDLE_MS) form.elements.seconds.value = (Number(form.elements.seconds.value) + pause / 1000).toFixed(1);
  // Whoever only reads is at work too, and keeps the lease.
  if (now - lastKept > BEAT_MS && !waiting) keep();
}

function keep() {
  waiting = 0;
  lastKept = performance.now();
  // One after the other: each names the revision that the one before was given.
  const own = (keeping ?? Promise.resolve()).then(sendDraft);
  keeping = own;
  own.then(() => {
    if (keeping === own) keeping = null;
  });
}

async function sendDraft() {
  const fields = new FormData(form);
  try {
    const answer = await fetch(form.dataset.draft, {
      method: "POST",
      body: new URLSearchParams(fields),
      headers: { Accept: "application/json", "X-CSRF-Token": fields.get("csrf") },
      redirect: "error",
    });
    const said = await answer.json();
    if (answer.ok) {
      form.elements.revision.value = said.revision;
      form.elements.lease_id.value = said.lease_id;
    }
    saved.textContent = answer.ok ? `Saved ${said.saved_at} UTC` : `${said.message}: ${said.remedy}`;
  } catch {
    saved.textContent = "Not saved: the server cannot be reached. Your text stays here; it is sent again at the next change.";
  }
}

form.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(keep, QUIET_MS);
});
// Beside a draft that is under way the form would look like another window's.
form.addEventListener("submit", async (event) => {
  clearTimeout(waiting);
  waiting = 0;
  if (!keeping) return;
  event.preventDefault();
  await keeping;
  form.requestSubmit(event.submitter);
});
for (const kind of ["pointermove", "keydown", "wheel", "pointerdown"]) addEventListener(kind, act, { passive: true });
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden" && waiting) {
    clearTimeout(waiting);
    keep();
  }
});

// The keys that choose a level choose here whose level it is: first A, then B, then another.
const picks = [...form.querySelectorAll("fieldset.pick")];

function step(by) {
  const now = picks.findIndex((pick) => pick.contains(document.activeElement));
  const next = picks[Math.min(Math.max(now + by, 0), picks.length - 1)];
  (next.querySelector("input[type=radio]:checked") ?? next.querySelector("input[type=radio]")).focus();
}

function choose(source) {
  const pick = picks.find((one) => one.contains(document.activeElement));
  const radio = pick?.querySelector(`input[type=radio][value=${source}]`);
  if (!radio) return;
  radio.click();
  radio.focus();
}

function open(id) {
  const small = document.getElementById(id);
  small.open = true;
  small.querySelector("textarea").focus();
}

// What Ctrl+Enter sends depends on where the cursor is: a flag, a skip, or the whole.
function submit() {
  const small = document.activeElement?.closest("#flag, #skip");
  (small?.querySelector("button") ?? form.querySelector("button[value=commit]")).click();
}

new Keys((name, event) => {
  if (name === "next") step(1);
  else if (name === "previous") step(-1);
  else if (name === "level-1") choose("A");
  else if (name === "level-2") choose("B");
  else if (name === "level-3") choose("other");
  else if (name === "flag" || name === "skip") open(name);
  else if (name === "submit") submit();
  else if (name === "escape") event.target.blur?.();
});
form.classList.add("scripted");
