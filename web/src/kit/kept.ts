/** Choices on a page that its address does not name, kept with the entry of the browser's history: Back and a reload restore them. */

import { useState } from "react";
import { listen } from "./listen";
import { Store, useSelector } from "./store";

/** Browsers refuse to write the entry more often than this for long, in milliseconds. */
const PAUSE = 200;

type Values = Record<string, unknown>;

const saved = (): Values | undefined => (history.state as { kept?: Values } | null)?.kept;

/** The page of an address; each branch of a session is one of its own. */
function pageOf(hash: string): string {
  const [path = "", search = ""] = hash.split("?", 2);
  return path.startsWith("#/s/") ? `${path}?${new URLSearchParams(search).get("branch") ?? ""}` : path;
}

class Kept extends Store {
  /** False in the components for other pages: their history belongs to them, and a server has none. */
  started = false;
  private values: Values = {};
  /** The address of the entry that has the values. */
  private hash = "";
  private timer = 0;
  private written = 0;

  start(): void {
    this.started = true;
    this.values = saved() ?? {};
    this.hash = location.hash;
    listen({ popstate: () => this.follow(), hashchange: () => this.follow() });
    // Before a link is followed.
    const flush = () => void (this.timer && this.write());
    listen({ click: flush, keydown: flush, pagehide: flush }, { capture: true, passive: true });
  }

  get(name: string): unknown {
    return this.values[name];
  }

  set(name: string, value: unknown): void {
    if (!this.started) return;
    this.values = { ...this.values, [name]: value };
    this.hash = location.hash;
    if (!this.timer) this.timer = window.setTimeout(() => this.write(), Math.max(0, this.written + PAUSE - Date.now()));
    this.changed();
  }

  private write(): void {
    clearTimeout(this.timer);
    this.timer = 0;
    if (location.hash !== this.hash) return; // the entry has been left
    this.written = Date.now();
    history.replaceState({ ...(history.state as object | null), kept: this.values }, "");
  }

  /** Take the values of another entry. A new one of the same page begins with those that are shown. */
  private follow(): void {
    clearTimeout(this.timer);
    this.timer = 0;
    const before = this.hash;
    const entry = saved();
    this.hash = location.hash;
    if (entry) this.values = entry;
    else if (pageOf(before) !== pageOf(this.hash)) this.values = {};
    else if (Object.keys(this.values).length) this.write();
    this.changed();
  }
}

export const kept = new Kept();

/** A state that Back restores. */
export function useKept<T>(name: string, initial: T): [T, (value: T) => void] {
  const own = useState(initial);
  const value = useSelector(kept, (all) => all.get(name)) as T | undefined;
  return !kept.started ? own : [value === undefined ? initial : value, (next) => kept.set(name, next)];
}
