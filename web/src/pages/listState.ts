/** What a list shows besides what its address names, kept with the entry of the browser's history. */

import { useEffect } from "react";

interface ListState {
  /** The scroll position. */
  top: number;
  /** How many texts are shown; 0 for the first few. */
  texts: number;
  /** True if all sessions that match are shown, not just the first. */
  allSessions: boolean;
}

const FIRST: ListState = { top: 0, texts: 0, allSessions: false };

export const listState = (): ListState => ({ ...FIRST, ...(history.state as { list?: Partial<ListState> } | null)?.list });

export function saveListState(change: Partial<ListState>): void {
  history.replaceState({ ...(history.state as object | null), list: { ...listState(), ...change } }, "");
}

/** Keep the scroll position. */
export function useSavedScroll(): void {
  useEffect(() => {
    let timer = 0;
    const save = () => saveListState({ top: scrollY });
    const scrolled = () => {
      clearTimeout(timer);
      timer = window.setTimeout(save, 100);
    };
    addEventListener("scroll", scrolled, { passive: true });
    addEventListener("click", save, { capture: true }); // before a link is followed
    return () => {
      clearTimeout(timer);
      removeEventListener("scroll", scrolled);
      removeEventListener("click", save, { capture: true });
    };
  }, []);
}
