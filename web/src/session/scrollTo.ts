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

/** How often to look for a match while rows are rendered and the page scrolls, and how many times. */
const MATCH_MS = 60;
const MATCH_TRIES = 30;

/** Scroll until the first marked match in the selected message, or in its current call, is on the screen. */
export async function showMatch(call: number | null): Promise<void> {
  const selector = call === null ? ".message.selected" : `[data-call="${call}"]`;
  let before = -1;
  for (let tries = 0; tries < MATCH_TRIES; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, MATCH_MS));
    const moved = scrollY !== before;
    before = scrollY;
    if (moved) continue;
    const match = firstMatch(selector);
    if (!match || isInHeader(match)) showAllLines(selector);
    if (!match || (isInHeader(match) && tries < MATCH_TRIES / 2)) continue;
    match.startContainer.parentElement?.scrollIntoView({ block: "nearest" });
    const { top, bottom } = match.getBoundingClientRect();
    if (top < contentTop() || bottom > innerHeight) scrollBy(0, top - innerHeight / 3);
    return;
  }
}

const isInHeader = (match: Range): boolean => match.startContainer.parentElement?.closest(".collapsible-header") != null;

/** Show the lines of an element that are left out, among which the match may be. */
function showAllLines(selector: string): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>(`${selector} .lines:not([data-all]) > .show-more`)) {
    button.parentElement?.setAttribute("data-all", "");
    button.click();
  }
}

/** The first mark of the search in an element; that of a call's body, if it has one, before that of its title. */
function firstMatch(selector: string): Range | null {
  const element = document.querySelector(selector);
  const marks = [...(CSS.highlights?.get("search-hits") ?? [])].filter(
    (range): range is Range => range instanceof Range && element !== null && element.contains(range.startContainer),
  );
  return marks.find((match) => !isInHeader(match)) ?? marks[0] ?? null;
}
