/** Printing: all messages are rendered, not only those near the screen. */

import { useEffect, useState } from "react";
import { flushSync } from "react-dom";
import { listen } from "../kit/listen";
import { setPrinting } from "../kit/offThread";
import { PAGE, type ThreadStore } from "../data/threadStore";
import type { TimelineItem } from "../data/values";

/** More items are not printed at once. */
const MOST_PRINTED = 5000;

/** The items to print while the browser prints; null otherwise. */
export function usePrinting(store: ThreadStore): TimelineItem[] | null {
  const [items, setItems] = useState<TimelineItem[] | null>(null);
  useEffect(() => {
    const before = () => {
      setPrinting(true);
      flushSync(() => setItems(itemsNow(store)));
    };
    const after = () => {
      setPrinting(false);
      setItems(null);
    };
    return listen({ beforeprint: before, afterprint: after });
  }, [store]);
  return items;
}

/** All items; those that are not loaded are requested now, since the browser does not wait. */
function itemsNow(store: ThreadStore): TimelineItem[] {
  const items: TimelineItem[] = [];
  for (let start = 0; start < Math.min(store.total, MOST_PRINTED); start += PAGE) {
    const loaded = store.loadedPage(start / PAGE);
    items.push(...(loaded ?? store.source.pageNow(store.thread, start, PAGE).items));
  }
  return items;
}
