/** Marks what is searched for wherever it is on the screen, without touching the document. */

import { useEffect, type RefObject } from "react";

const NAME = "found";
const MOST = 2000;

export function useFoundMarks(box: RefObject<HTMLElement | null>, query: string): void {
  useEffect(() => {
    const root = box.current;
    if (!root || !query.trim() || !("highlights" in CSS)) return;
    const wanted = query.toLowerCase();
    let frame = 0;
    const mark = () => {
      frame = 0;
      CSS.highlights.set(NAME, new Highlight(...rangesOf(root, wanted)));
    };
    const later = () => {
      frame ||= requestAnimationFrame(mark);
    };
    const observer = new MutationObserver(later);
    observer.observe(root, { childList: true, subtree: true, characterData: true });
    later();
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
      CSS.highlights.delete(NAME);
    };
  }, [box, query]);
}

function rangesOf(root: HTMLElement, wanted: string): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MOST; node = walker.nextNode()) {
    const text = (node.nodeValue ?? "").toLowerCase();
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, Math.min(at + wanted.length, node.nodeValue?.length ?? 0));
      ranges.push(range);
    }
  }
  return ranges;
}
