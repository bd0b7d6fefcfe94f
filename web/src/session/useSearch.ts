/** A search through the whole session, shown as it proceeds. */

import { useEffect, useState } from "react";
import { toError } from "../kit/useAsked";
import type { Reading } from "../reading";
import type { Hit } from "../values";

const MOST = 500;
const PAUSE = 120;

export interface Search {
  hits: Hit[];
  searched: number;
  total: number;
  done: boolean;
  error: Error | null;
}

const NOTHING: Search = { hits: [], searched: 0, total: 0, done: true, error: null };

export function useSearch(reading: Reading, query: string): Search {
  const [search, setSearch] = useState(NOTHING);
  useEffect(() => {
    if (!query.trim()) {
      setSearch(NOTHING);
      return;
    }
    let current = true;
    const run = async () => {
      const hits: Hit[] = [];
      let start: number | null = 0;
      while (current && start !== null) {
        const found: Awaited<ReturnType<typeof reading.source.find>> = await reading.source.find(
          reading.thread,
          query,
          start,
        );
        hits.push(...found.hits);
        start = hits.length >= MOST ? null : found.next;
        const { searched, total } = found;
        if (current) setSearch({ hits: hits.slice(), searched, total, done: start === null, error: null });
      }
    };
    setSearch((before) => ({ ...before, done: false }));
    const timer = setTimeout(() => {
      run().catch((error: unknown) => current && setSearch({ ...NOTHING, error: toError(error) }));
    }, PAUSE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [reading, query]);
  return search;
}
