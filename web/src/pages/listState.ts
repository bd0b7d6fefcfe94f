/** What a list shows besides what its address names, kept with the entry of the browser's history. */

import { useEffect } from "react";
import { useLibraryStore } from "../contexts";
import { useSelector } from "../kit/store";
import type { Library, LibraryRow } from "../data/values";

interface ListState {
  /** How many texts are shown; 0 for the first few. */
  texts: number;
  /** True if all sessions that match are shown, not just the first. */
  allSessions: boolean;
  /** The groups that are folded, and the repeats that are open. */
  toggled: string[];
}

const FIRST: ListState = { texts: 0, allSessions: false, toggled: [] };

export const listState = (): ListState => ({ ...FIRST, ...(history.state as { list?: Partial<ListState> } | null)?.list });

export function saveListState(change: Partial<ListState>): void {
  history.replaceState({ ...(history.state as object | null), list: { ...listState(), ...change } }, "");
}

const NONE: LibraryRow[] = [];

/** The list of sessions, for a page that is no list of them; null until it is there. */
export function useLibrary(): Library | null {
  const store = useLibraryStore();
  useEffect(store.load, [store]);
  return useSelector(store, ({ library }) => library);
}

/** All sessions, for such a page. */
export const useLibraryRows = (): LibraryRow[] => useLibrary()?.sessions ?? NONE;
