/** A search through the whole session, agents included; hits appear as they are found. */

import { useEffect, useState } from "react";
import { useThreadStore } from "../contexts";
import { useVersion } from "../kit/store";
import { toError } from "../kit/toError";
import type { ThreadStore } from "../data/threadStore";
import type { SearchHit, SearchHits } from "../data/values";

const MOST_HITS = 500;
/** How long to wait for more typing, in milliseconds. */
const DEBOUNCE = 120;

export interface Search {
  /** What the hits are hits of. */
  query: string;
  hits: SearchHit[];
  searched: number;
  total: number;
  done: boolean;
  error: Error | null;
}

const EMPTY: Search = { query: "", hits: [], searched: 0, total: 0, done: true, error: null };

export function useSearch(store: ThreadStore, query: string): Search {
  const [search, setSearch] = useState(EMPTY);
  useEffect(() => {
    if (!query.trim()) {
      setSearch(EMPTY);
      return;
    }
    let current = true;
    const run = async () => {
      const hits: SearchHit[] = [];
      let start: number | null = 0;
      while (current && start !== null) {
        const { session, agent, branch } = store.thread;
        const whole = agent === undefined ? { session, branch } : { session };
        const found: SearchHits = await store.source.search(whole, query, start);
        hits.push(...found.hits);
        start = hits.length >= MOST_HITS ? null : found.next;
        const { searched, total } = found;
        if (current) setSearch({ query, hits: hits.slice(), searched, total, done: start === null, error: null });
      }
    };
    setSearch((before) => ({ ...before, done: false }));
    const timer = setTimeout(() => {
      run().catch((error: unknown) => current && setSearch({ ...EMPTY, error: toError(error) }));
    }, DEBOUNCE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [store, query]);
  return search;
}

const isSame = (a: SearchHit, b: SearchHit): boolean =>
  a.agent === b.agent && a.key === b.key && a.call === b.call && a.where === b.where && a.before === b.before;

/** The number of the hit that was gone to last; if none was gone to, that of the message or call that a link led to; else -1. */
export function useCurrentHit(hits: SearchHit[], current: SearchHit | null): number {
  const { position, thread } = useThreadStore();
  useVersion(position);
  if (current) return hits.findIndex((hit) => isSame(hit, current));
  return hits.findIndex(
    ({ agent, key, call }) =>
      (agent ?? undefined) === thread.agent && key === position.selected && (position.call === null || call === position.call),
  );
}
