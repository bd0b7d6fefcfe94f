/** Highlights the hits on the screen with the CSS Custom Highlight API, without changing the DOM.
 *
 * Only the texts that are hits are marked, so that the marks are those that are counted and stepped through.
 */

import { useEffect, type RefObject } from "react";
import type { SearchHit } from "../data/values";
import { marksOf } from "./marksOf";
import type { Search } from "./useSearch";

const NAME = "search-hits";
const MOST_RANGES = 2000;
/** Told to the document when other texts are marked. */
export const MARKED = "reread-marked";

export function useSearchHighlights(container: RefObject<HTMLElement | null>, { query, hits }: Search): void {
  useEffect(() => {
    const root = container.current;
    const marks = marksOf(query);
    const places = new Set(hits.map(placeOfHit));
    if (!root || !marks || !("highlights" in CSS)) return;
    let frame = 0;
    const highlight = () => {
      frame = 0;
      CSS.highlights.set(NAME, new Highlight(...rangesOf(root, marks, places)));
      document.dispatchEvent(new Event(MARKED));
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
  }, [container, query, hits]);
}

const place = (key: string, call: string | number | null, thinking: boolean): string => JSON.stringify([key, thinking || call === null ? null : String(call), thinking]);

const placeOfHit = ({ key, call, where }: SearchHit): string => place(key, call, where === "thinking");

/** The place of a text on the page: its message, and the call or the thinking that it is part of. */
function placeOf(node: Node): string | null {
  const message = node.parentElement?.closest<HTMLElement>("[data-key]");
  if (!message) return null;
  const within = (selector: string) => {
    const found = node.parentElement?.closest<HTMLElement>(selector);
    return found && message.contains(found) ? found : null;
  };
  return place(message.dataset.key ?? "", within("[data-call]")?.dataset.call ?? null, within(".thinking") !== null);
}

function rangesOf(root: HTMLElement, marks: RegExp, places: ReadonlySet<string>): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MOST_RANGES; node = walker.nextNode()) {
    const found = [...(node.nodeValue ?? "").matchAll(marks)];
    if (!found.length || !places.has(placeOf(node) ?? "")) continue;
    for (const { 0: match, index } of found) {
      if (!match) continue;
      const range = new Range();
      range.setStart(node, index);
      range.setEnd(node, index + match.length);
      ranges.push(range);
    }
  }
  return ranges;
}
