/** What a list shows besides what its address names, kept with the entry of the browser's history. */

import { useEffect, useLayoutEffect } from "react";
import { useLibraryStore } from "../contexts";
import { listen } from "../kit/listen";
import { useSelector } from "../kit/store";
import type { LibraryRow } from "../data/values";

interface ListState {
  /** The scroll position. */
  top: number;
  /** How many texts are shown; 0 for the first few. */
  texts: number;
  /** True if all sessions that match are shown, not just the first. */
  allSessions: boolean;
  /** The groups that are folded, and the repeats that are open. */
  toggled: string[];
}

const FIRST: ListState = { top: 0, texts: 0, allSessions: false, toggled: [] };

export const listState = (): ListState => ({ ...FIRST, ...(history.state as { list?: Partial<ListState> } | null)?.list });

export function saveListState(change: Partial<ListState>): void {
  history.replaceState({ ...(history.state as object | null), list: { ...listState(), ...change } }, "");
}

const NONE: LibraryRow[] = [];

/** All sessions, for a page that is no list of them. */
export function useLibraryRows(): LibraryRow[] {
  const store = useLibraryStore();
  useEffect(store.load, [store]);
  return useSelector(store, ({ library }) => library?.sessions ?? NONE);
}

/** Keep the scroll position, and return to it.
 *
 * A return is in force until the person does something: what the page shows may arrive late and piece by piece, and while it is
 * too short the browser scrolls it elsewhere. There is no time after which it is given up, and until then nothing is saved.
 */
export function useKeptScroll(): void {
  useLayoutEffect(() => {
    let wanted: number | null = null;
    let timer = 0;
    const hold = () => wanted !== null && scrollTo(0, wanted);
    const release = () => (wanted = null);
    const returnToSaved = () => {
      clearTimeout(timer);
      wanted = listState().top || null;
      hold();
    };
    const save = () => {
      clearTimeout(timer);
      if (wanted === null) saveListState({ top: scrollY });
    };
    const scrolled = () => {
      clearTimeout(timer);
      timer = window.setTimeout(save, 100);
    };
    returnToSaved();
    const observer = new ResizeObserver(hold);
    observer.observe(document.body);
    const gestures = { wheel: release, touchmove: release, pointerdown: release, keydown: release, input: release };
    const stops = [
      listen({ scroll: scrolled, pagehide: save, popstate: returnToSaved }, { passive: true }),
      // Before anyone acts on them, and before a link is followed.
      listen({ ...gestures, click: save }, { passive: true, capture: true }),
    ];
    return () => {
      clearTimeout(timer);
      observer.disconnect();
      for (const stop of stops) stop();
    };
  }, []);
}
