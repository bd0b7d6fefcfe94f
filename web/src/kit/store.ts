/** The least that a component can subscribe to. */

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

/** Draw again whenever the store changes. */
export const useVersion = (store: Store): number => useSyncExternalStore(store.subscribe, () => store.version);

/** Draw again when what is picked from the store changes. */
export const usePicked = <S extends Store, T>(store: S, pick: (store: S) => T): T =>
  useSyncExternalStore(store.subscribe, () => pick(store));
