// The rubric, one criterion at a time: levels by key, and after the commit mine against the judge's.

export class Criteria {
  constructor(root, changed) {
    this.changed = changed;
    this.items = [...root.querySelectorAll("#assessment .criterion")];
    this.nav = root.querySelector("#criteria");
    this.undone = [];
    this.asksCause = null;
    if (!this.items.length || !this.nav) return;
    this.nav.hidden = false;
    this.buttons = this.items.map((item, place) => {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "quiet" });
      button.addEventListener("click", () => this.show(place));
      return button;
    });
    this.nav.append(...this.buttons);
    root.querySelector("#assessment").classList.add("single");
    for (const choose of root.querySelectorAll(".choose")) choose.hidden = false;
    this.items.forEach((item) => this.remember(item));
    const first = this.items.findIndex((item) => this.isOpen(item));
    this.show(first < 0 ? 0 : first, false);
  }

  get current() {
    return this.items[this.place];
  }

  radios(item) {
    return [...item.querySelectorAll("input[type=radio]")];
  }

  value(item) {
    return this.radios(item).find((radio) => radio.checked)?.value ?? "";
  }

  isOpen(item) {
    return item.dataset.asked === "yes" && this.value(item) === "";
  }

  remember(item) {
    item.dataset.before = this.value(item);
  }

  show(place, focus = true) {
    this.place = place;
    this.asksCause = null;
    this.items.forEach((item, other) => (item.hidden = other !== place));
    this.label();
    if (focus) this.nav.scrollIntoView({ block: "nearest" });
  }

  label() {
    this.buttons.forEach((button, place) => {
      const item = this.items[place];
      const level = item.dataset.asked === "yes" ? this.value(item) : "✓";
      const sign = { "": "?", none: "–" }[level] ?? level;
      const number = Object.assign(document.createElement("span"), { className: "place", textContent: place + 1 });
      button.replaceChildren(number, ` ${sign}`);
      button.ariaLabel = `${item.dataset.title}: ${{ "?": "not decided", "–": "cannot be judged", "✓": "settled by a check" }[sign] ?? `level ${sign}`}`;
      button.ariaCurrent = place === this.place ? "step" : null;
      button.classList.toggle("differs", item.classList.contains("differs"));
    });
  }

  step(by) {
    if (this.items.length) this.show((this.place + by + this.items.length) % this.items.length);
  }

  // Sets a level by its key; an answer leads on to the next criterion that has none.
  press(key) {
    const item = this.current;
    if (!item) return "";
    if (this.asksCause) return this.pickCause(key);
    const radio = this.radios(item).find((one) => one.dataset.key === key);
    return radio ? this.choose(item, radio) : "";
  }

  choose(item, radio) {
    radio.checked = true;
    radio.dispatchEvent(new Event("change", { bubbles: true }));
    const change = item.querySelector(".change");
    if (change) {
      change.open = true;
      return this.askCause(item);
    }
    if (radio.value === "none") {
      item.querySelector("textarea").focus();
      return "Say why it cannot be judged.";
    }
    if (radio.value !== "") this.advance();
    return "";
  }

  advance() {
    const order = this.items.map((_, step) => (this.place + 1 + step) % this.items.length);
    const next = order.find((place) => this.isOpen(this.items[place]));
    if (next !== undefined) this.show(next);
  }

  // A radio was changed, by key or by hand.
  note(item) {
    this.undone.push([item, item.dataset.before]);
    this.remember(item);
    this.label();
  }

  undo() {
    const [item, before] = this.undone.pop() ?? [];
    if (!item) return "There is nothing to undo.";
    const radio = this.radios(item).find((one) => one.value === before);
    if (radio) radio.checked = true;
    this.remember(item);
    this.show(this.items.indexOf(item));
    this.changed();
    return "Undone.";
  }

  askCause(item) {
    const select = item.querySelector("select[name^='cause.']");
    if (!select) return "";
    if (this.value(item) === item.dataset.mine) {
      select.value = "";
      return "Kept.";
    }
    this.asksCause = select;
    const list = [...select.options].slice(1).map((option, place) => `${place + 1} ${option.text}`);
    return `Why? ${list.join(" · ")}`;
  }

  pickCause(key) {
    const option = [...this.asksCause.options][Number(key)];
    if (!option || key === "0") return "";
    this.asksCause.value = option.value;
    this.asksCause.dispatchEvent(new Event("change", { bubbles: true }));
    this.asksCause = null;
    this.nextDifference();
    return option.text;
  }

  nextDifference() {
    const next = this.items.findIndex((item, place) => place > this.place && item.classList.contains("differs"));
    if (next >= 0) this.show(next);
  }

  keep() {
    return this.take(this.current?.dataset.mine, true);
  }

  adopt() {
    return this.take(this.current?.dataset.judge, false);
  }

  take(value, goOn) {
    const item = this.current;
    const radio = item && value !== "" ? this.radios(item).find((one) => one.value === value) : null;
    if (!radio || item.dataset.mine === undefined) return "There is no level to take.";
    const said = this.choose(item, radio);
    if (goOn) this.nextDifference();
    return said;
  }
}
