/** Highlights the search text on the screen with the CSS Custom Highlight API, without changing the DOM. */

import { useEffect, type RefObject } from "react";

const NAME = "search-hits";
const MOST_RANGES = 2000;

export function useSearchHighlights(container: RefObject<HTMLElement | null>, query: string): void {
  useEffect(() => {
    const root = container.current;
    if (!root || !query.trim() || !("highlights" in CSS)) return;
    const lower = query.toLowerCase();
    let frame = 0;
    const highlight = () => {
      frame = 0;
      CSS.highlights.set(NAME, new Highlight(...rangesOf(root, lower)));
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

function rangesOf(root: HTMLElement, query: string): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MOST_RANGES; node = walker.nextNode()) {
    const text = (node.nodeValue ?? "").toLowerCase();
    for (let at = text.indexOf(query); at >= 0; at = text.indexOf(query, at + query.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, Math.min(at + query.length, node.nodeValue?.length ?? 0));
      ranges.push(range);
    }
  }
  return ranges;
}
