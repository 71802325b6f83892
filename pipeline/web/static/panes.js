// The three panes: their sizes, the tabs of the evidence, and finding one's way in the code.

const SIZES = "desk.sizes";

function readSizes() {
  try {
    return JSON.parse(localStorage.getItem(SIZES)) || {};
  } catch {
    return {};
  }
}

// Lets a divider be dragged, or moved with the arrow keys; sizes are percentages of what it divides.
export function installDivider(divider, container, property, vertical) {
  if (!divider) return;
  divider.hidden = false;
  const set = (wanted) => {
    const [low, high] = [Number(divider.ariaValueMin), Number(divider.ariaValueMax)];
    const size = Math.min(high, Math.max(low, wanted));
    container.style.setProperty(property, `${size}%`);
    divider.ariaValueNow = String(Math.round(size));
    localStorage.setItem(SIZES, JSON.stringify({ ...readSizes(), [property]: size }));
  };
  const stored = readSizes()[property];
  if (typeof stored === "number") set(stored);
  divider.addEventListener("pointerdown", (event) => {
    divider.setPointerCapture(event.pointerId);
    const move = (moved) => {
      const box = container.getBoundingClientRect();
      set(vertical ? (100 * (moved.clientX - box.left)) / box.width : (100 * (moved.clientY - box.top)) / box.height);
    };
    divider.addEventListener("pointermove", move);
    divider.addEventListener("pointerup", () => divider.removeEventListener("pointermove", move), { once: true });
  });
  divider.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -2, ArrowUp: -2, ArrowRight: 2, ArrowDown: 2 }[event.key];
    if (!step) return;
    event.preventDefault();
    set(Number(divider.ariaValueNow) + step);
  });
}

export class Tabs {
  constructor(root) {
    this.list = root.querySelector("#tabs");
    this.panels = [...root.querySelectorAll("#evidence-pane .tab")];
    if (!this.panels.length) return;
    this.list.hidden = false;
    this.buttons = this.panels.map((panel) => {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", id: `${panel.id}-button`, textContent: panel.dataset.title });
      button.setAttribute("role", "tab");
      button.setAttribute("aria-controls", panel.id);
      button.addEventListener("click", () => this.show(panel));
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", button.id);
      panel.tabIndex = 0;
      return button;
    });
    this.list.append(...this.buttons);
    this.list.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step) this.step(step).focus();
    });
    this.show(this.panels[0]);
  }

  get shown() {
    return this.panels[this.place]?.id;
  }

  open(id) {
    const panel = this.panels.find((one) => one.id === id);
    if (panel) this.show(panel);
  }

  get place() {
    return this.panels.findIndex((panel) => !panel.hidden);
  }

  show(shown) {
    this.panels.forEach((panel, place) => {
      panel.hidden = panel !== shown;
      this.buttons[place].ariaSelected = String(panel === shown);
      this.buttons[place].tabIndex = panel === shown ? 0 : -1;
    });
  }

  step(by) {
    const place = (this.place + by + this.panels.length) % this.panels.length;
    this.show(this.panels[place]);
    return this.buttons[place];
  }
}

// Brings something of the page into view, whatever it is hidden in, and marks it.
export function reveal(target, tabs) {
  if (!target) return false;
  const panel = target.closest(".tab");
  if (panel && tabs?.panels?.includes(panel)) tabs.show(panel);
  target.closest("details")?.setAttribute("open", "");
  for (const before of document.querySelectorAll(".target")) before.classList.remove("target");
  target.classList.add("target");
  target.scrollIntoView({ block: "center" });
  return true;
}

export class Code {
  constructor(root, tabs) {
    this.pane = root.querySelector("#code");
    this.tabs = tabs;
    this.hit = -1;
  }

  line(number) {
    return this.pane.querySelector(`#L${number}`);
  }

  goTo(number) {
    return Number.isInteger(number) && reveal(this.line(number), this.tabs);
  }

  // The line that was marked last, or else the first one in view.
  get here() {
    const marked = this.pane.querySelector(".target");
    if (marked?.dataset.line) return Number(marked.dataset.line);
    const top = this.pane.getBoundingClientRect().top;
    const first = [...this.pane.querySelectorAll("[data-line]")].find((line) => line.getBoundingClientRect().bottom > top);
    return first ? Number(first.dataset.line) : 1;
  }

  stepFinding(by) {
    const lines = [...this.pane.querySelectorAll(".line:has(.mark)")];
    if (!lines.length) return;
    const now = lines.indexOf(this.pane.querySelector(".line.target"));
    reveal(lines[now < 0 ? (by > 0 ? 0 : lines.length - 1) : (now + by + lines.length) % lines.length], this.tabs);
  }

  find(text) {
    const wanted = text.toLowerCase();
    this.hits = [];
    for (const line of this.pane.querySelectorAll(".line")) {
      const holds = wanted !== "" && line.textContent.toLowerCase().includes(wanted);
      line.classList.toggle("hit", holds);
      if (holds) this.hits.push(line);
    }
    this.hit = -1;
    return this.hits.length;
  }

  nextHit(by = 1) {
    if (!this.hits?.length) return;
    this.hit = (this.hit + by + this.hits.length) % this.hits.length;
    reveal(this.hits[this.hit], this.tabs);
  }

  // Shows what the form says about lines below those lines.
  showComments(form) {
    for (const old of this.pane.querySelectorAll(".remark")) old.remove();
    for (const item of form?.querySelectorAll("#comments li") ?? []) {
      const line = this.line(Number(item.dataset.last));
      if (!line) continue;
      const remark = document.createElement("div");
      remark.className = "remark";
      remark.textContent = item.querySelector("textarea").value;
      line.after(remark);
    }
  }
}
