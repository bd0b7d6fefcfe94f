/** The rows of a page-long list that are near the screen, measured as they are drawn.
 *
 * Libraries for this lay the whole list out again with each row that is measured: 10 ms of every frame at 100,000 rows.
 */

import { useCallback, useLayoutEffect, useMemo, useReducer, useState, type RefCallback, type RefObject } from "react";
import { flushSync } from "react-dom";
import { topOfText } from "./bar";
import { Heights } from "./heights";

/** How far beyond the screen rows are drawn. */
const BEYOND = 500;

export interface Windowed {
  heights: Heights;
  /** How far down the page the list begins. */
  margin: number;
  first: number;
  last: number;
  /** For each row, which carries its number in `data-index`. */
  row: RefCallback<HTMLElement>;
}

/** A list in `box`; another `identity` is another list. */
export function useWindowed(box: RefObject<HTMLElement | null>, count: number, estimate: number, identity: unknown): Windowed {
  const heights = useMemo(() => new Heights(count, estimate), [identity]);
  heights.resize(count);
  const margin = useTop(box);
  const [, draw] = useReducer((times: number) => times + 1, 0);
  const { first, last } = near(heights, margin);

  useLayoutEffect(() => {
    let drawn = near(heights, margin);
    let frame = 0;
    const redraw = () => {
      frame = 0;
      const now = near(heights, margin);
      if (now.first === drawn.first && now.last === drawn.last) return;
      drawn = now;
      flushSync(draw);
    };
    // Still in this frame, but after all who ask where the page is: to draw before would have it laid out for them.
    const scrolled = () => {
      frame ||= requestAnimationFrame(redraw);
    };
    addEventListener("scroll", scrolled, { passive: true });
    addEventListener("resize", scrolled);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", scrolled);
      removeEventListener("resize", scrolled);
    };
  }, [heights, margin]);

  const observer = useMemo(
    () =>
      new ResizeObserver((entries) => {
        const above = take(entries, heights, scrollY - margin + topOfText());
        if (above === null) return;
        flushSync(draw);
        // What changes above the top of the screen must not move what is on it.
        if (above) scrollTo(0, scrollY + above);
      }),
    [heights, margin],
  );
  useLayoutEffect(() => () => observer.disconnect(), [observer]);
  const row = useCallback(
    (element: HTMLElement | null) => {
      if (!element) return;
      observer.observe(element);
      return () => observer.unobserve(element);
    },
    [observer],
  );
  return { heights, margin, first, last, row };
}

function near(heights: Heights, margin: number): { first: number; last: number } {
  const top = scrollY - margin;
  return { first: heights.at(top - BEYOND), last: heights.count ? heights.at(top + innerHeight + BEYOND) : -1 };
}

/** Take in new heights: how much came above a line, or null where nothing changed. */
function take(entries: ResizeObserverEntry[], heights: Heights, line: number): number | null {
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

/** How far down the page something begins; what stands above it may grow, and then does not move what is read of it. */
function useTop(box: RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const list = box.current;
    if (!list) return;
    let known: number | null = null;
    const measure = () => {
      const now = Math.round(list.getBoundingClientRect().top + scrollY);
      if (known !== null && now !== known && scrollY + topOfText() > known) scrollTo(0, scrollY + now - known);
      known = now;
      setTop(now);
    };
    const observer = new ResizeObserver(measure);
    for (let above = list.previousElementSibling; above; above = above.previousElementSibling) observer.observe(above);
    measure();
    return () => observer.disconnect();
  }, [box]);
  return top;
}
