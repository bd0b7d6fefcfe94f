/** Scrolling to an exact place in a list whose rows are not measured yet. */

import { contentTop } from "../kit/barHeight";
import type { WindowedRows } from "../kit/useWindowedRows";
import type { Jump } from "../threadStore";

/** The scroll position, stored with the entry of the browser's history. */
export interface ScrollPosition {
  index: number;
  key: string;
  offset: number;
}

export function savePosition(scrollPosition: ScrollPosition): void {
  history.replaceState({ ...(history.state as object | null), scrollPosition }, "");
}

export const savedPosition = (): ScrollPosition | null =>
  (history.state as { scrollPosition?: ScrollPosition } | null)?.scrollPosition ?? null;

/** Resolves after the next frame, when its rows are rendered and measured. */
export const nextFrame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

/** Scroll to a row, and correct the position until the rows around it are measured. */
export async function scrollToRow({ heights, margin }: WindowedRows, row: number, jump: Jump): Promise<void> {
  const toEstimate = () => scrollTo(0, margin + heights.top(row) - contentTop());
  toEstimate();
  for (let tries = 0; tries < 12; tries += 1) {
    await nextFrame();
    const element = document.querySelector<HTMLElement>(`.row[data-index="${row}"]`);
    if (!element) toEstimate(); // a row before it turned out to be taller
    if (!element || element.querySelector(".loading")) continue;
    const off = targetTop(element, jump) - contentTop();
    if (Math.abs(off) < 1) return;
    const before = scrollY;
    scrollBy(0, off);
    if (scrollY === before) return;
  }
}

function targetTop(element: HTMLElement, jump: Jump): number {
  const call = jump.call === null ? null : element.querySelector<HTMLElement>(`[data-call="${jump.call}"]`);
  if (call) {
    // A quarter of the screen above the call stays visible, as its context.
    return Math.max(call.getBoundingClientRect().top - innerHeight / 4, element.getBoundingClientRect().top);
  }
  return element.getBoundingClientRect().top + (jump.offset ?? 0);
}

export function scrollToEnd(): void {
  scrollTo(0, document.documentElement.scrollHeight);
}
