/** What runs now, as the server says it: the one answer for the list of running sessions, the filter and the dots. */

import { useMemo } from "react";
import { useSource } from "../contexts";
import { Store, useSelector } from "../kit/store";
import type { Running } from "./source";
import type { LibraryNow } from "./values";

const NOTHING: Running = Object.assign(new Store(), { now: null });

/** What runs now; null until the server says so. */
export function useRunning(): LibraryNow | null {
  const { running } = useSource();
  return useSelector(running ?? NOTHING, ({ now }) => now);
}

/** The keys of the sessions that run: they work, wait or are idle. One that died does not. */
export const runningKeys = (now: LibraryNow | null): ReadonlySet<string> =>
  new Set(now?.sessions.flatMap(({ key, state }) => (key !== null && state !== "died" ? [key] : [])));

export function useRunningKeys(): ReadonlySet<string> {
  const now = useRunning();
  return useMemo(() => runningKeys(now), [now]);
}
