/** The rows of a long list that are near the screen, in a page or a box that someone else scrolls. */

import { useCallback, useLayoutEffect, useMemo, useRef, useState, type RefCallback, type RefObject } from "react";
import { flushSync } from "react-dom";
import { listen } from "../kit/listen";
import { Heights } from "../kit/heights";

/** The height of a row that is not measured yet. */
const ESTIMATE = 88;
/** Rows are rendered this many pixels beyond the screen. */
const OVERSCAN = 600;
/** Rows that are rendered before the list is measured. */
const FIRST = 12;
/** Longer lists are printed in part. */
const MOST_PRINTED = 2000;

interface NearRows {
  first: number;
  last: number;
  /** The height of the rows before the first and after the last one. */
  before: number;
  after: number;
  /** The ref of each row, whose number is in `data-index`. */
  rowRef: RefCallback<HTMLElement>;
}

export function useNearRows(container: RefObject<HTMLElement | null>, count: number): NearRows {
  const heights = useMemo(() => new Heights(0, ESTIMATE), []);
  heights.resize(count);
  const [range, setRange] = useState({ first: 0, last: FIRST });
  const printing = useRef(false);
  const update = useCallback(() => {
    const list = container.current;
    if (!list || printing.current) return;
    const { top } = list.getBoundingClientRect();
    const first = heights.at(-top - OVERSCAN);
    const last = heights.at(innerHeight - top + OVERSCAN);
    setRange((now) => (now.first === first && now.last === last ? now : { first, last }));
  }, [container, heights]);
  const observer = useMemo(
    () =>
      typeof ResizeObserver === "undefined"
        ? null
        : new ResizeObserver((entries) => {
            for (const { target, borderBoxSize } of entries) {
              const height = borderBoxSize[0]?.blockSize ?? 0;
              if (target.isConnected && height) heights.set(Number((target as HTMLElement).dataset.index), height);
            }
            update();
          }),
    [heights, update],
  );
  useLayoutEffect(() => {
    update();
    const print = (now: boolean) => () => {
      printing.current = now;
      if (now) flushSync(() => setRange({ first: 0, last: MOST_PRINTED }));
      else update();
    };
    // Captured, since the list may be in any box that scrolls.
    const stop = listen({ scroll: update, resize: update, beforeprint: print(true), afterprint: print(false) }, { capture: true, passive: true });
    return () => {
      stop();
      observer?.disconnect();
    };
  }, [update, observer]);
  useLayoutEffect(update, [update, count]);
  const rowRef = useCallback(
    (element: HTMLElement | null) => {
      if (!element) return;
      observer?.observe(element);
      return () => observer?.unobserve(element);
    },
    [observer],
  );
  const last = Math.min(range.last, count - 1);
  const first = Math.max(0, Math.min(range.first, last));
  return { first, last, before: heights.top(first), after: heights.total - heights.top(last + 1), rowRef };
}
