/** State outside React that components subscribe to. */

import { useSyncExternalStore } from "react";

export class Store {
  private readonly listeners = new Set<() => void>();
  version = 0;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  protected changed(): void {
    this.version += 1;
    for (const listener of [...this.listeners]) listener();
  }
}

/** Render again whenever the store changes. */
export const useVersion = (store: Store): number => useSyncExternalStore(store.subscribe, () => store.version, () => store.version);

/** Render again whenever the selected value changes. */
export const useSelector = <S extends Store, T>(store: S, select: (store: S) => T): T =>
  useSyncExternalStore(
    store.subscribe,
    () => select(store),
    () => select(store),
  );
