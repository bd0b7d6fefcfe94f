/** Printing: all messages must be loaded and rendered, not only those near the screen. */

import { useEffect, useState } from "react";
import { flushSync } from "react-dom";
import { PAGE, type ThreadStore } from "../threadStore";

/** More items are not printed at once. */
export const MOST_PRINTED = 5000;

export async function printThread(store: ThreadStore): Promise<void> {
  for (let index = 0; index < Math.min(store.total, MOST_PRINTED); index += PAGE) await store.load(index);
  print();
}

/** True while everything must be rendered. Ctrl+P first loads everything. */
export function usePrinting(store: ThreadStore): boolean {
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const before = () => flushSync(() => setPrinting(true));
    const after = () => setPrinting(false);
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== "p" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
      event.preventDefault();
      void printThread(store);
    };
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    addEventListener("keydown", pressed);
    return () => {
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
      removeEventListener("keydown", pressed);
    };
  }, [store]);
  return printing;
}
