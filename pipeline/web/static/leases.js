// Time at work, and how long the item is still ours: both only while somebody acts.

export class Stopwatch {
  constructor(onTick) {
    this.seconds = 0;
    this.idle = 60;
    this.paused = false;
    this.last = Date.now();
    for (const kind of ["pointermove", "pointerdown", "keydown", "wheel", "input"]) {
      document.addEventListener(kind, () => (this.last = Date.now()), { passive: true, capture: true });
    }
    setInterval(() => {
      if (this.working) this.seconds += 1;
      onTick(this);
    }, 1000);
  }

  get working() {
    return !this.paused && !document.hidden && Date.now() - this.last < this.idle * 1000;
  }

  restart(seconds, idle) {
    this.seconds = seconds;
    this.idle = idle;
  }
}

export function inWords(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const minutes = Math.floor(whole / 60);
  return `${minutes}:${String(whole % 60).padStart(2, "0")}`;
}

// Says how long a lease lasts; a clock that is wrong by minutes must not frighten anybody, so the server's counts.
export class Lease {
  constructor(element) {
    this.element = element;
    if (element) this.renew(element.dateTime);
  }

  renew(until) {
    if (!this.element || !until) return;
    this.element.dateTime = until;
    this.until = new Date(until).getTime();
    this.tick();
  }

  tick() {
    if (!this.element || !this.until) return;
    const left = (this.until - Date.now()) / 1000;
    this.element.textContent = `${new Date(this.until).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false })} (${inWords(left)})`;
    this.element.classList.toggle("warn", left < 120);
  }
}
