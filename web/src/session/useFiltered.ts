/** The items that match a filter, as they are found. */

import { useEffect, useState } from "react";
import { isEmpty } from "../filter";
import { toError } from "../kit/toError";
import type { Filter } from "../source";
import type { ThreadStore } from "../threadStore";
import type { FilterResult } from "../values";

export interface FilteredItems {
  indices: number[];
  done: boolean;
}

export function useFiltered(store: ThreadStore, filter: Filter): FilteredItems {
  const [items, setItems] = useState<FilteredItems>({ indices: [], done: true });
  useEffect(() => {
    if (isEmpty(filter)) return;
    let current = true;
    const run = async () => {
      let indices: number[] = [];
      let start: number | null = 0;
      while (current && start !== null) {
        const found: FilterResult = await store.source.filter(store.thread, filter, start);
        indices = indices.concat(found.indices);
        start = found.next;
        if (current) setItems({ indices, done: start === null });
      }
    };
    setItems((before) => ({ ...before, done: false }));
    run().catch((error: unknown) => current && store.showNotice(toError(error).message));
    return () => {
      current = false;
    };
  }, [store, filter, store.total]);
  return items;
}
