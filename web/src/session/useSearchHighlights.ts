/** Highlights the search text on the screen with the CSS Custom Highlight API, without changing the DOM. */

import { useEffect, type RefObject } from "react";
import { marksOf } from "./marksOf";

const NAME = "search-hits";
const MOST_RANGES = 2000;

export function useSearchHighlights(container: RefObject<HTMLElement | null>, query: string): void {
  useEffect(() => {
    const root = container.current;
    const marks = marksOf(query);
    if (!root || !marks || !("highlights" in CSS)) return;
    let frame = 0;
    const highlight = () => {
      frame = 0;
      CSS.highlights.set(NAME, new Highlight(...rangesOf(root, marks)));
    };
    const schedule = () => {
      frame ||= requestAnimationFrame(highlight);
    };
    const observer = new MutationObserver(schedule);
    observer.observe(root, { childList: true, subtree: true, characterData: true });
    schedule();
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
      CSS.highlights.delete(NAME);
    };
  }, [container, query]);
}

function rangesOf(root: HTMLElement, marks: RegExp): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MOST_RANGES; node = walker.nextNode()) {
    for (const { 0: match, index } of (node.nodeValue ?? "").matchAll(marks)) {
      if (!match) continue;
      const range = new Range();
      range.setStart(node, index);
      range.setEnd(node, index + match.length);
      ranges.push(range);
    }
  }
  return ranges;
}
