/** The rows of a very long list that are near the screen, measured as they are rendered.
 *
 * Libraries for this compute the layout of the whole list after each measured row: 10 ms of every frame at 100,000 rows.
 */

import { useCallback, useLayoutEffect, useMemo, useReducer, useRef, useState, type RefCallback, type RefObject } from "react";
import { flushSync } from "react-dom";
import { listen } from "./listen";
import { contentTop } from "./barHeight";
import { Heights } from "./heights";

/** Rows are rendered this many pixels beyond the screen. */
const OVERSCAN = 500;

export interface WindowedRows {
  heights: Heights;
  /** The offset of the list from the top of the page. */
  margin: number;
  first: number;
  last: number;
  /** The ref of each row, whose number is in `data-index`. */
  rowRef: RefCallback<HTMLElement>;
}

/** The rows of the list in `container`; a new `identity` means a new list.
 *
 * What is on the screen stays there while rows above it are measured, unless `isHeld`: then someone else sees to it.
 */
export function useWindowedRows(
  container: RefObject<HTMLElement | null>,
  count: number,
  estimate: number,
  identity: unknown,
  isHeld: () => boolean,
): WindowedRows {
  const heights = useMemo(() => new Heights(count, estimate), [identity]);
  heights.resize(count);
  const margin = useTop(container, isHeld);
  const [, render] = useReducer((times: number) => times + 1, 0);
  const { first, last } = nearScreen(heights, margin);
  const rendered = useRef({ first, last });
  // Not while rendering: React throws away what was rendered for a state that turns out to be the same, and the rows on the
  // page would be taken for others.
  useLayoutEffect(() => {
    rendered.current = { first, last };
  });

  useLayoutEffect(() => {
    let frame = 0;
    const update = () => {
      frame = 0;
      const now = nearScreen(heights, margin);
      if (now.first !== rendered.current.first || now.last !== rendered.current.last) flushSync(render);
    };
    // In this frame, but after everyone who reads the scroll position: rendering first would force a layout for them.
    const scrolled = () => {
      frame ||= requestAnimationFrame(update);
    };
    const stop = listen({ scroll: scrolled, resize: scrolled }, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      stop();
    };
  }, [heights, margin]);

  const observer = useMemo(
    () =>
      new ResizeObserver((entries) => {
        const above = measure(entries, heights, scrollY - margin + contentTop());
        if (above === null) return;
        flushSync(render);
        if (above && !isHeld()) scrollTo(0, scrollY + above);
      }),
    [heights, margin, isHeld],
  );
  useLayoutEffect(() => () => observer.disconnect(), [observer]);
  const rowRef = useCallback(
    (element: HTMLElement | null) => {
      if (!element) return;
      observer.observe(element);
      return () => observer.unobserve(element);
    },
    [observer],
  );
  return { heights, margin, first, last, rowRef };
}

function nearScreen(heights: Heights, margin: number): { first: number; last: number } {
  const top = scrollY - margin;
  return { first: heights.at(top - OVERSCAN), last: heights.count ? heights.at(top + innerHeight + OVERSCAN) : -1 };
}

/** Apply measured heights; return by how much the rows above a line grew, or null if nothing changed. */
function measure(entries: ResizeObserverEntry[], heights: Heights, line: number): number | null {
  let changed = false;
  let above = 0;
  for (const { target, borderBoxSize } of entries) {
    const row = Number((target as HTMLElement).dataset.index);
    const height = borderBoxSize[0]?.blockSize ?? 0;
    if (!target.isConnected || !height) continue;
    const end = heights.top(row) + heights.height(row);
    const change = heights.set(row, height);
    changed ||= change !== 0;
    if (end <= line) {
      above += change;
      line += change;
    }
  }
  return changed ? above : null;
}

/** The offset of an element from the top of the page. If the content above grows, the scroll position is corrected. */
function useTop(container: RefObject<HTMLElement | null>, isHeld: () => boolean): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const list = container.current;
    if (!list) return;
    let known: number | null = null;
    const update = () => {
      const now = Math.round(list.getBoundingClientRect().top + scrollY);
      if (known !== null && now !== known && scrollY + contentTop() > known && !isHeld()) scrollTo(0, scrollY + now - known);
      known = now;
      setTop(now);
    };
    const observer = new ResizeObserver(update);
    if (list.parentElement) observer.observe(list.parentElement); // also what comes later, and margins
    update();
    return () => observer.disconnect();
  }, [container, isHeld]);
  return top;
}
