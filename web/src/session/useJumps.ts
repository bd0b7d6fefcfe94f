/** Carries out jumps in a list whose rows are filled and measured late.
 *
 * A jump is in force until the person scrolls. Whatever moves its target renders the list or changes its elements: rows that
 * come near the screen, bodies that arrive, heights that are measured, matches that are marked. After each of these the target
 * is looked for again and put back in its place. There is no number of tries and no time after which a jump is given up,
 * because on a slow machine any such limit comes too early.
 */

import { useCallback, useEffect, useLayoutEffect, useRef, type RefObject } from "react";
import { listen } from "../kit/listen";
import { contentTop } from "../kit/barHeight";
import { nextFrame } from "../kit/nextFrame";
import { useVersion } from "../kit/store";
import type { WindowedRows } from "../kit/useWindowedRows";
import type { Jump, ThreadStore } from "../data/threadStore";
import { SEEK } from "../kit/Lines";
import { MARKED } from "./useSearchHighlights";

type Jumps = ThreadStore["jumps"];

/** Keys by which a page is scrolled. */
const SCROLL_KEYS = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "]);

/** What is known of the jump in force. */
interface Progress {
  jump: Jump;
  /** Where the page was scrolled for it; if the page is elsewhere, someone else scrolled. */
  scrolledTo: number;
  /** The place of its match on the screen, once that is found. */
  matchTop: number | null;
  /** Whether the match is in the title of a call, in whose body another may come. */
  inHeader: boolean;
}

export function useJumps(list: WindowedRows, jumps: Jumps, container: RefObject<HTMLElement | null>, rows: number[] | null): void {
  useVersion(jumps);
  const jump = jumps.current;
  const progress = useRef<Progress | null>(null);
  const latest = useRef({ list, rows });
  latest.current = { list, rows };

  const correct = useCallback(
    (marked: boolean): boolean => {
      const { current: jump } = jumps;
      const { list, rows } = latest.current;
      if (!jump) return false;
      if (progress.current?.jump !== jump) progress.current = { jump, scrolledTo: scrollY, matchTop: null, inHeader: false };
      const now = progress.current;
      if (wasScrolled(now)) {
        jumps.cancel();
        return false;
      }
      const row = Math.min(rows ? rows.filter((index) => index < jump.index).length : jump.index, list.heights.count - 1);
      if (row < 0) return false;
      const element = container.current?.querySelector<HTMLElement>(`.row[data-index="${row}"]`);
      const before = scrollY;
      const off = element ? offBy(element, now, marked) : 0;
      if (Math.abs(off) >= 1) scrollBy(0, off);
      if (!element) scrollTo(0, list.margin + list.heights.top(row) - contentTop());
      now.scrolledTo = scrollY;
      const moved = Math.abs(scrollY - before) >= 1;
      if (marked && !moved && element && !element.querySelector(".loading")) jumps.reach();
      return moved;
    },
    [jumps, container],
  );

  useEffect(() => {
    if (!jump || !container.current) return;
    let waiting = false;
    let current = true;
    const later = async () => {
      if (waiting) return;
      waiting = true;
      await nextFrame();
      waiting = false;
      if (current && correct(true)) void later();
    };
    void later();
    const observer = new MutationObserver(() => void later());
    observer.observe(container.current, { childList: true, subtree: true, characterData: true });
    const marked = () => void later();
    document.addEventListener(MARKED, marked);
    return () => {
      current = false;
      document.removeEventListener(MARKED, marked);
      observer.disconnect();
    };
  }, [jump, correct, container]);

  useLayoutEffect(() => {
    correct(false);
  });

  useEffect(() => {
    const scrolled = () => {
      if (progress.current && progress.current.jump === jumps.current && wasScrolled(progress.current)) jumps.cancel();
    };
    const gesture = () => jumps.cancel();
    const pressed = ({ key, target }: KeyboardEvent) => {
      if (SCROLL_KEYS.has(key) && !(target as Element).closest("input, textarea, select")) jumps.cancel();
    };
    // What opens or closes under the pointer must stay there.
    const pointed = () => jumps.release();
    const list = container.current;
    const stop = listen({ scroll: scrolled, wheel: gesture, touchmove: gesture, keydown: pressed }, { passive: true });
    list?.addEventListener("pointerdown", pointed);
    return () => {
      stop();
      list?.removeEventListener("pointerdown", pointed);
    };
  }, [jumps, container]);
}

/** True if the page was scrolled by someone else: by the scroll bar, the browser's search, a screen reader. A page that became
 * shorter than it was scrolled is not. */
function wasScrolled({ scrolledTo }: Progress): boolean {
  const end = document.documentElement.scrollHeight - innerHeight;
  return Math.abs(scrollY - scrolledTo) > 1 && (scrollY > scrolledTo || scrollY < end - 1);
}

/** How many pixels the target is below its place. */
function offBy(row: HTMLElement, progress: Progress, marked: boolean): number {
  const { jump } = progress;
  const { top } = row.getBoundingClientRect();
  const call = jump.call === null ? null : row.querySelector<HTMLElement>(`[data-call="${jump.call}"]`);
  const match = jump.match !== undefined ? firstMatch(call ?? row, jump.match) : null;
  if (jump.match !== undefined && marked) findMatch(call ?? row, match, progress);
  if (progress.matchTop !== null) return match ? match.getBoundingClientRect().top - progress.matchTop : 0;
  // A quarter of the screen above a call stays visible, as its context.
  if (call) return Math.max(call.getBoundingClientRect().top - innerHeight / 4, top) - contentTop();
  return top + (jump.offset ?? 0) - contentTop();
}

/** Look for the match among the lines that are left out too, and choose its place on the screen. */
function findMatch(target: HTMLElement, match: Range | null, progress: Progress): void {
  const inHeader = match !== null && isInHeader(match);
  if (!match || inHeader) showAllLines(target);
  seekLine(target, progress.jump.match);
  if (!match || (inHeader && target.querySelector(".loading"))) return;
  if (progress.matchTop !== null && progress.inHeader === inHeader) return;
  match.startContainer.parentElement?.scrollIntoView({ block: "nearest" }); // in the boxes around it
  const { top, bottom } = match.getBoundingClientRect();
  progress.matchTop = top < contentTop() || bottom > innerHeight ? innerHeight / 3 : top;
  progress.inHeader = inHeader;
}

const isInHeader = (match: Range): boolean => match.startContainer.parentElement?.closest(".collapsible-header") != null;

/** Show what is left out of an element, or closed in it, among which the match may be; the thread of an agent is no part of it. */
function showAllLines(target: HTMLElement): void {
  for (const button of target.querySelectorAll<HTMLButtonElement>(".show-more, .section-node > .disclosure[aria-expanded=false]")) {
    if ("shown" in button.dataset || (button.closest(".agent") && target.contains(button.closest(".agent")))) continue;
    button.dataset.shown = "";
    button.click();
  }
}

/** Have each box of very many lines show the one that matches: the others are not on the page. */
function seekLine(target: HTMLElement, line: string | undefined): void {
  if (!line) return;
  for (const box of target.querySelectorAll<HTMLElement>(".scrolls.virtual")) {
    if (box.dataset.sought !== line) box.dispatchEvent(new CustomEvent(SEEK, { detail: line }));
  }
}

/** The mark of the search in the line that matches, else the first one in an element; that of a call's title is the last. */
function firstMatch(target: HTMLElement, line: string): Range | null {
  const marks = [...(CSS.highlights?.get("search-hits") ?? [])].filter(
    (range): range is Range => range instanceof Range && target.contains(range.startContainer),
  );
  const inBody = marks.filter((match) => !isInHeader(match));
  const isSought = ({ startContainer: { parentElement } }: Range) => parentElement?.closest(".line, p, li, td, pre, h1, h2, h3, h4")?.textContent?.includes(line);
  return (line && inBody.find(isSought)) || inBody[0] || marks[0] || null;
}
