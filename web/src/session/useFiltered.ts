/** The passages that a filter keeps, found as far as has been looked. */

import { useEffect, useState } from "react";
import { keepsAll } from "../filter";
import type { Reading } from "../reading";
import type { Filter } from "../source";
import type { Filtered } from "../values";

export interface Rows {
  indices: number[];
  done: boolean;
}

export function useFiltered(reading: Reading, filter: Filter): Rows {
  const [rows, setRows] = useState<Rows>({ indices: [], done: true });
  useEffect(() => {
    if (keepsAll(filter)) return;
    let current = true;
    const run = async () => {
      let indices: number[] = [];
      let start: number | null = 0;
      while (current && start !== null) {
        const found: Filtered = await reading.source.filter(reading.thread, filter, start);
        indices = indices.concat(found.indices);
        start = found.next;
        if (current) setRows({ indices, done: start === null });
      }
    };
    setRows((before) => ({ ...before, done: false }));
    run().catch((error: unknown) => current && reading.say(error instanceof Error ? error.message : String(error)));
    return () => {
      current = false;
    };
  }, [reading, filter, reading.total]);
  return rows;
}
