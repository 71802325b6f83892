// Keeps the form on the server after every change, and in the browser until the server has it.

const PAUSE = 700;
const BEAT = 30_000;
const RETRY = 5_000;

// What somebody wrote of all that a form sends.
function written(body) {
  const kept = new URLSearchParams(body);
  for (const name of ["csrf", "key", "lease_id", "revision", "rubric", "seconds", "shown_mode"]) kept.delete(name);
  return kept;
}

export class Autosave {
  constructor(page) {
    this.page = page;
    this.saving = null;
    this.dirty = false;
    this.stopped = false;
    this.lastBeat = Date.now();
  }

  // Takes up the form of a page that was just shown.
  mount() {
    clearTimeout(this.timer);
    this.dirty = false;
    this.stopped = false;
    this.lastBeat = Date.now();
    const left = this.readBackup();
    if (left && this.page.form && left.toString() !== written(this.page.fields()).toString()) this.page.offerBackup(left);
    else this.dropBackup();
  }

  touch() {
    this.dirty = true;
    this.keepBackup(this.page.fields());
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), PAUSE);
  }

  beat(working) {
    if (working && Date.now() - this.lastBeat > BEAT) this.save();
  }

  // Resolves once nothing is on its way any more.
  async settle() {
    clearTimeout(this.timer);
    if (this.saving) await this.saving;
  }

  // Resolves to whether the server has everything that was written.
  async flush() {
    await this.settle();
    return !this.dirty || this.save();
  }

  save() {
    if (this.stopped || !this.page.form) return Promise.resolve(!this.dirty);
    if (this.saving) return this.saving.then((kept) => (this.dirty ? this.save() : kept));
    this.saving = this.send().finally(() => (this.saving = null));
    return this.saving;
  }

  async send() {
    const page = this.page;
    clearTimeout(this.timer);
    this.dirty = false;
    this.lastBeat = Date.now();
    const body = page.fields();
    this.keepBackup(body);
    let answer;
    try {
      answer = await page.post(`${page.base}/draft`, body);
    } catch {
      this.dirty = true;
      page.say("not saved yet: the server does not answer; your text is kept in this browser");
      this.timer = setTimeout(() => this.save(), RETRY);
      return false;
    }
    const said = await answer.json().catch(() => ({ code: "unclear", message: "the server's answer cannot be read", remedy: "" }));
    if (!answer.ok) {
      this.refused(said);
      return false;
    }
    page.set("revision", said.revision);
    page.set("lease_id", said.lease_id ?? "");
    page.lease.renew(said.lease_until);
    page.say(`saved ${new Date(said.saved_at).toLocaleTimeString([], { hour12: false })}`);
    if (!this.dirty) this.dropBackup();
    return true;
  }

  refused(said) {
    this.page.say("not saved");
    // Of a lease that is lost the draft is kept all the same.
    this.dirty = said.code !== "lease_lost";
    // What is wrong with one field is right again after the next change; the rest waits for the person.
    this.stopped = said.code !== "invalid";
    this.page.refuse(said);
  }

  resume(revision) {
    this.stopped = false;
    if (revision !== undefined) this.page.set("revision", revision);
    return this.save();
  }

  // A browser that is closed sends what is left with its last breath.
  leave() {
    if (!this.dirty || this.stopped || !this.page.form) return;
    navigator.sendBeacon(`${this.page.base}/draft`, this.page.fields());
  }

  get backupKey() {
    return `desk.draft.${this.page.place}`;
  }

  keepBackup(body) {
    try {
      localStorage.setItem(this.backupKey, written(body).toString());
    } catch {
      // A full or closed storage leaves the server's copy alone.
    }
  }

  readBackup() {
    const kept = localStorage.getItem(this.backupKey);
    return kept ? new URLSearchParams(kept) : null;
  }

  dropBackup() {
    localStorage.removeItem(this.backupKey);
  }
}
