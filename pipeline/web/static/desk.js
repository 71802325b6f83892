// One page for a whole evening: forms are sent and answered in place, and everything typed is kept at once.

import { Autosave } from "./autosave.js";
import { Criteria } from "./criteria.js";
import { Keys } from "./keys.js";
import { Lease, Stopwatch, inWords } from "./leases.js";
import { Code, Tabs, installDivider, reveal } from "./panes.js";

const page = {
  get root() {
    return document.getElementById("workspace");
  },
  get form() {
    return document.getElementById("assessment");
  },
  get base() {
    return this.root.dataset.base;
  },
  get place() {
    return this.root.dataset.place;
  },

  set(name, value) {
    const field = this.form?.elements.namedItem(name);
    if (field) field.value = value;
  },

  fields(submitter) {
    this.set("seconds", watch.seconds);
    return new URLSearchParams(new FormData(this.form, submitter));
  },

  say(words) {
    const saved = document.getElementById("saved");
    if (saved) saved.textContent = words;
  },

  // Sends a form; a token that is older than the session is fetched anew once.
  async post(address, body, headers = {}) {
    const ask = () =>
      fetch(address, {
        method: "POST",
        body,
        headers: {
          Accept: "application/json, text/html",
          "X-CSRF-Token": token().content,
          "X-Have-Code": encodeURIComponent(`${this.base} ${code.pane.dataset.mode}`),
          ...headers,
        },
      });
    const answer = await ask();
    if (answer.status !== 403) return answer;
    const said = await answer.clone().json().catch(() => ({}));
    if (said.code !== "not_ours" || !(await renewToken())) return answer;
    body.set("csrf", token().content);
    return ask();
  },

  refuse(said) {
    // Without a session no form is anybody's: both refusals mean that it ended.
    const away = ["not_logged_in", "not_ours"].includes(said.code);
    const words = away
      ? "You are logged out. What you wrote is still here; log in again and save it."
      : [`${said.message}.`, said.remedy ? `${said.remedy}.` : ""].join(" ");
    const buttons = [];
    if (said.code === "stale_revision") {
      buttons.push(
        button("Let this window count", () => autosave.resume(said.revision).then(clearIf)),
        button("Take the other version", () => load(this.base)),
        link("Look at it in a new tab", this.base),
      );
    } else if (away) {
      buttons.push(link("Log in in a new tab", this.root.dataset.login), button("Then save again", () => autosave.resume().then(clearIf)));
    } else if (said.code !== "invalid") {
      buttons.push(button("Try again", said.retry ?? (() => autosave.resume().then(clearIf))));
    }
    message("bad", words, buttons);
  },

  offerBackup(left) {
    message("warn", "This browser holds text of this item that the server never got.", [
      button("Bring it back", () => restore(left)),
      button("Throw it away", () => {
        autosave.dropBackup();
        clearMessages();
      }),
    ]);
  },
};

const autosave = new Autosave(page);
const watch = new Stopwatch(tick);
const keys = new Keys(act);
let code, tabs, criteria, busy, rerunSaid;

function token() {
  return document.querySelector("meta[name=csrf-token]");
}

async function renewToken() {
  const answer = await fetch(page.base);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = fresh.querySelector("meta[name=csrf-token]");
  if (!found || !fresh.getElementById("workspace")) return false;
  token().content = found.content;
  for (const field of document.querySelectorAll("input[name=csrf]")) field.value = found.content;
  return true;
}

function button(words, run) {
  const made = Object.assign(document.createElement("button"), { type: "button", textContent: words });
  made.addEventListener("click", run);
  return made;
}

function link(words, address) {
  return Object.assign(document.createElement("a"), { href: address, target: "_blank", rel: "noopener", textContent: words });
}

function message(kind, words, buttons = []) {
  const notice = Object.assign(document.createElement("div"), { className: `notice ${kind}`, tabIndex: -1 });
  const text = Object.assign(document.createElement("p"), { className: "sentence", textContent: words });
  const row = Object.assign(document.createElement("p"), { className: "inline" });
  row.append(...buttons);
  notice.append(text, row);
  document.getElementById("messages").replaceChildren(notice);
  return notice;
}

function clearMessages() {
  document.getElementById("messages").replaceChildren();
}

function clearIf(kept) {
  if (kept) clearMessages();
}

function restore(left) {
  for (const [name, value] of left) {
    const field = page.form.elements.namedItem(name);
    if (!field || name === "stage") continue;
    // Of fields that are there several times, such as comments, the server's stay.
    if (field instanceof RadioNodeList && !(field[0]?.type === "radio")) continue;
    field.value = value;
  }
  criteria.label();
  clearMessages();
  autosave.touch();
}

function tick(clock) {
  page.lease?.tick();
  autosave.beat(clock.working);
  const shown = document.getElementById("active");
  if (shown) shown.textContent = clock.paused ? "timer paused" : `${inWords(clock.seconds)} at work`;
  const undo = document.getElementById("undo");
  if (undo && Date.now() > new Date(undo.dataset.until).getTime()) undo.remove();
}

// Takes up the page that is there now.
function mount() {
  const root = page.root;
  if (!root) return;
  root.classList.add("scripted");
  for (const one of root.querySelectorAll("#show-keys, #find, #active")) one.hidden = false;
  tabs = new Tabs(root);
  code = new Code(root, tabs);
  criteria = new Criteria(root, () => autosave.touch());
  page.lease = new Lease(document.getElementById("lease"));
  watch.restart(Number(root.dataset.seconds ?? 0), Number(root.dataset.idle));
  installDivider(document.getElementById("divide-columns"), document.getElementById("panes"), "--code", true);
  installDivider(document.getElementById("divide-rows"), document.getElementById("side"), "--rubric", false);
  code.showComments(page.form);
  autosave.mount();
  // What was put into the page by hand asks for nothing by itself until htmx has seen it.
  window.htmx?.process(root);
  rerunSaid = document.getElementById("rerun")?.dataset.said;
}

async function load(address) {
  await autosave.settle();
  autosave.dropBackup();
  const answer = await fetch(address);
  show(await answer.text(), answer.url);
}

// Puts a page that was fetched in place of the one that is there.
function show(html, address) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  const next = fresh.getElementById("workspace");
  if (!next) {
    autosave.stopped = true;
    location.assign(address);
    return;
  }
  const focused = document.activeElement?.id;
  const item = (root) => root.dataset.place.slice(0, -root.dataset.stage.length);
  const same = item(next) === item(page.root);
  const sameForm = next.dataset.place === page.place;
  const tab = tabs.shown;
  const [before, after] = [code.pane, next.querySelector("#code")];
  const scrolled = [before.scrollTop, document.getElementById("rubric-pane").scrollTop];
  const keepsCode = same && before.dataset.mode === after.dataset.mode;
  if (keepsCode) after.replaceWith(before);
  page.root.replaceWith(next);
  document.title = fresh.title;
  token().content = fresh.querySelector("meta[name=csrf-token]").content;
  const shown = new URL(address);
  if (!/\/(save|commit|final|preview|flag)$/.test(shown.pathname)) history.pushState(null, "", shown.pathname + shown.search);
  mount();
  if (keepsCode) before.scrollTop = scrolled[0];
  const wanted = document.getElementById("problem") ?? document.getElementById("preview-title") ?? (sameForm && focused && document.getElementById(focused));
  if (sameForm) document.getElementById("rubric-pane").scrollTop = scrolled[1];
  if (sameForm) tabs.open(tab);
  (wanted || document.getElementById("main")).focus({ preventScroll: false });
}

async function send(form, submitter) {
  if (busy) return;
  busy = true;
  try {
    const own = form === page.form;
    // What another form leads away from is kept first.
    if (own) await autosave.settle();
    else if (!(await autosave.flush())) return;
    const body = own ? page.fields(submitter) : new URLSearchParams(new FormData(form, submitter));
    const answer = await page.post(submitter?.getAttribute("formaction") || form.getAttribute("action"), body);
    if (answer.headers.get("content-type")?.startsWith("application/json")) {
      page.refuse(await answer.json());
      return;
    }
    if (own) autosave.dropBackup();
    autosave.dirty = false;
    show(await answer.text(), answer.url);
  } catch {
    message("bad", "The server does not answer. What you wrote is kept in this browser; try again.", []);
  } finally {
    busy = false;
  }
}

async function showMode(chosen) {
  const mode = chosen.dataset.mode;
  const pane = code.pane;
  // What was asked for last counts, in whatever order the answers come.
  pane.dataset.wanted = mode;
  const answer = await fetch(`${page.base}/code?mode=${encodeURIComponent(mode)}`).catch(() => null);
  const text = answer?.ok ? await answer.text() : null;
  if (pane.dataset.wanted !== mode) return;
  if (text === null) {
    delete pane.dataset.wanted;
    return;
  }
  pane.innerHTML = text;
  pane.dataset.mode = mode;
  page.set("shown_mode", mode);
  for (const one of document.querySelectorAll(".modes [data-mode]")) {
    if (one.tagName === "BUTTON") one.ariaPressed = String(one === chosen);
    else one.ariaCurrent = one === chosen ? "true" : null;
  }
  code.showComments(page.form);
}

// Has the submission run again; its tab then asks by itself how far that is.
async function runAgain(chosen) {
  tabs.open("tab-rerun");
  const body = new URLSearchParams({ csrf: token().content, rerun: chosen.value });
  const answer = await page.post(`${page.base}/rerun`, body, { "HX-Request": "true" }).catch(() => null);
  if (answer?.ok) {
    window.htmx.swap("#rerun", await answer.text(), { swapStyle: "outerHTML" });
    clearMessages();
  } else if (answer) page.refuse({ ...(await answer.json()), retry: () => runAgain(chosen) });
  else message("bad", "The server does not answer. Try again.");
}

function open(id, field) {
  const details = document.getElementById(id);
  if (!details) return;
  details.open = true;
  document.getElementById(field).focus();
}

function startComment(first, last = first) {
  if (!document.getElementById("new-comment")) return;
  document.getElementById("new-first").value = first;
  document.getElementById("new-last").value = last;
  open("new-comment", "new-text");
}

async function suggest() {
  const box = document.getElementById("suggestions");
  if (!box) return;
  if (!document.getElementById("new-comment").open) startComment(code.here);
  const answer = await fetch(`${page.root.dataset.suggest}?task=${encodeURIComponent(page.root.dataset.task)}`, { headers: { Accept: "application/json" } });
  const said = answer.ok ? await answer.json() : { comments: [] };
  const list = said.comments;
  const insert = ({ id, text }) => {
    const field = document.getElementById("new-text");
    field.value = field.value ? `${field.value}\n${text}` : text;
    page.post(page.root.dataset.suggest.replace("suggest", `${encodeURIComponent(id)}/use`), new URLSearchParams());
    box.hidden = true;
    field.focus();
  };
  box.replaceChildren(...(list.length ? list.map((one) => button(one.text, () => insert(one))) : ["You have no saved comments yet."]));
  box.hidden = false;
  box.querySelector("button")?.focus();
}

// What Ctrl+Enter sends depends on where the cursor is: a small form of its own, or the whole.
function submit() {
  const small = document.activeElement?.closest("#new-comment, #new-feedback, #flag, #skip");
  const primary = small?.querySelector("button[formaction]") ?? page.form?.querySelector("button.primary") ?? page.root?.querySelector("form button.primary");
  if (primary) primary.form.requestSubmit(primary);
}

function act(name) {
  if (!page.root) return;
  const said = {
    submit,
    escape: () => criteria && (criteria.asksCause = null),
    next: () => criteria.step(1),
    previous: () => criteria.step(-1),
    clear: () => criteria.press("0"),
    cannot: () => criteria.press("x"),
    keep: () => criteria.keep(),
    adopt: () => criteria.adopt(),
    tab: () => void tabs.step(1),
    mode: () => {
      const all = [...document.querySelectorAll(".modes [data-mode]")];
      const last = code.pane.dataset.wanted ?? code.pane.dataset.mode;
      const now = all.findIndex((one) => one.dataset.mode === last);
      showMode(all[(now + 1) % all.length]);
    },
    finding: () => code.stepFinding(1),
    "finding-back": () => code.stepFinding(-1),
    line: () => document.getElementById("goto").focus(),
    find: () => document.getElementById("find-text").focus(),
    comment: () => startComment(code.here),
    saved: () => void suggest(),
    object: () => {
      const own = criteria.current?.querySelector(".objection") ?? document.querySelector(".objection");
      if (!own) return "No check settled a criterion here.";
      const place = criteria.items.indexOf(own.closest(".criterion"));
      if (place >= 0) criteria.show(place);
      own.open = true;
      own.querySelector("textarea").focus();
    },
    rerun: () => {
      const again = document.querySelector("#rerun [name=rerun]");
      if (!again) return "Nothing of this item ran, so nothing can run again.";
      runAgain(again);
    },
    flag: () => open("flag", "flag-reason"),
    skip: () => open("skip", "skip-reason"),
    undo: () => {
      const undo = document.getElementById("undo");
      if (undo) undo.requestSubmit();
      else return criteria.undo();
    },
    pause: () => {
      watch.paused = !watch.paused;
    },
    help: () => keys.show(document.getElementById("keys")),
  }[name] ?? (() => criteria.press(name.replace("level-", "")));
  const words = said();
  if (typeof words === "string" && words) page.say(words);
}

document.addEventListener("submit", (event) => {
  if (!page.root?.contains(event.target)) return;
  event.preventDefault();
  if (event.submitter?.dataset.mode) showMode(event.submitter);
  else if (event.submitter?.name === "rerun") runAgain(event.submitter);
  else send(event.target, event.submitter);
});

// Only what is new is said aloud: the tab is put in anew every other second.
document.addEventListener("htmx:afterSwap", () => {
  const said = document.getElementById("rerun")?.dataset.said;
  if (said && said !== rerunSaid) page.say(said);
  rerunSaid = said;
});

document.addEventListener("input", (event) => {
  if (event.target.id === "find-text") code.find(event.target.value);
  else if (event.target.form && event.target.form === page.form && event.target.name) autosave.touch();
});

document.addEventListener("change", (event) => {
  if (!page.form || event.target.form !== page.form) return;
  const item = event.target.closest(".criterion");
  if (event.target.type === "radio" && item) criteria.note(item);
  autosave.touch();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
  if (event.target.id === "find-text") code.nextHit(event.shiftKey ? -1 : 1);
  else if (event.target.id === "goto" && code.goTo(Number(event.target.value))) event.target.blur();
  else return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  if (!page.root?.contains(event.target)) return;
  const anchor = event.target.closest("a[href^='#']");
  const line = event.target.closest("#code [data-line]");
  const mode = event.target.closest("a[data-mode]");
  const choice = event.target.closest("[data-act]");
  if (mode) {
    event.preventDefault();
    showMode(mode);
  } else if (anchor && reveal(document.getElementById(anchor.hash.slice(1)), tabs)) {
    event.preventDefault();
  } else if (line && event.target.classList.contains("number")) {
    const number = Number(line.dataset.line);
    const first = event.shiftKey ? Number(document.getElementById("new-first")?.value) || number : number;
    startComment(Math.min(first, number), Math.max(first, number));
  } else if (choice) {
    act(choice.dataset.act);
  } else if (event.target.closest("#show-keys")) act("help");
  else if (event.target.closest("#next-finding")) act("finding");
});

window.addEventListener("pagehide", () => autosave.leave());
window.addEventListener("popstate", async () => {
  if (await autosave.flush()) load(location.href);
});
mount();
