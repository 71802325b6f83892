// Keys outside text fields: which key does what, remapped and switched off per browser.

const STORED = "desk.keys";

const ACTIONS = {
  next: ["j", "Next criterion"],
  previous: ["k", "Previous criterion"],
  "level-1": ["1", "Lowest level"],
  "level-2": ["2", "Second level"],
  "level-3": ["3", "Third level"],
  "level-4": ["4", "Fourth level"],
  "level-5": ["5", "Highest level"],
  clear: ["0", "Clear the level"],
  cannot: ["x", "It cannot be judged from the evidence"],
  keep: ["m", "Keep my level (after the commit)"],
  adopt: ["a", "Take the judge's level (after the commit)"],
  tab: ["e", "Next tab of the evidence"],
  mode: ["d", "Next way to show the code"],
  finding: ["n", "Next finding"],
  "finding-back": ["p", "Previous finding"],
  line: ["g", "Go to a line"],
  find: ["/", "Find in the code"],
  comment: ["c", "Comment on lines"],
  saved: [".", "Insert a saved comment"],
  object: ["o", "Object to a check"],
  rerun: ["r", "Run it again"],
  flag: ["f", "Flag the item"],
  skip: ["s", "Skip the item"],
  undo: ["u", "Undo the last change, or finishing"],
  pause: ["t", "Pause the timer"],
  help: ["?", "Show the keys"],
};

const TEXT = "textarea, select, [contenteditable], input:not([type=radio], [type=checkbox], [type=hidden])";

export class Keys {
  constructor(run) {
    this.run = run;
    this.load();
    document.addEventListener("keydown", (event) => this.press(event));
  }

  load() {
    let stored = {};
    try {
      stored = JSON.parse(localStorage.getItem(STORED)) || {};
    } catch {
      // What cannot be read is as good as nothing.
    }
    this.on = stored.on !== false;
    this.map = Object.fromEntries(Object.entries(ACTIONS).map(([name, [key]]) => [name, stored.keys?.[name] || key]));
  }

  store() {
    const changed = Object.entries(this.map).filter(([name, key]) => key !== ACTIONS[name][0]);
    localStorage.setItem(STORED, JSON.stringify({ on: this.on, keys: Object.fromEntries(changed) }));
  }

  press(event) {
    if (event.defaultPrevented || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.run("submit", event);
      return;
    }
    const typing = event.target instanceof Element && event.target.matches(TEXT);
    if (event.key === "Escape") {
      if (typing) event.target.blur();
      this.run("escape", event);
      return;
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const name = Object.keys(this.map).find((one) => this.map[one] === event.key);
    if (!name || (!this.on && name !== "help")) return;
    event.preventDefault();
    this.run(name, event);
  }

  // Shows the keys in the dialog, each in a field of its own.
  show(dialog) {
    const rows = dialog.querySelector("#key-rows");
    rows.replaceChildren(
      ...Object.entries(ACTIONS).map(([name, [, words]]) => {
        const row = document.createElement("tr");
        const field = document.createElement("input");
        Object.assign(field, { id: `key-${name}`, value: this.map[name], maxLength: 1, size: 2 });
        field.addEventListener("input", () => this.change(name, field));
        const label = document.createElement("label");
        Object.assign(label, { htmlFor: field.id, textContent: words });
        row.append(document.createElement("td"), document.createElement("td"));
        row.children[0].append(label);
        row.children[1].append(field);
        return row;
      }),
    );
    const switched = dialog.querySelector("#keys-on");
    switched.checked = this.on;
    switched.onchange = () => {
      this.on = switched.checked;
      this.store();
    };
    dialog.querySelector("#keys-reset").onclick = () => {
      this.map = Object.fromEntries(Object.entries(ACTIONS).map(([name, [key]]) => [name, key]));
      this.store();
      this.show(dialog);
    };
    dialog.querySelector("#keys-close").onclick = () => dialog.close();
    if (!dialog.open) dialog.showModal();
  }

  change(name, field) {
    const key = field.value;
    const taken = Object.keys(this.map).find((one) => one !== name && this.map[one] === key);
    const free = key.length === 1 && key !== " " && !taken;
    field.setCustomValidity(free || !key ? "" : `That key is taken: ${taken ? ACTIONS[taken][1] : "space"}`);
    field.reportValidity();
    if (!free) return;
    this.map[name] = key;
    this.store();
  }
}
