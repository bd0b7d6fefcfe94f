/** Search in an exported page, with the rule of the server (`reader/search.py`). */

import { itemTexts } from "./itemTexts";
import type { CallBody, SearchHit, TimelineItem } from "./values";

/** Characters of context on each side of a hit. */
const CONTEXT = 60;
const LONGEST_QUERY = 500;

/** A pattern that finds a text, ignoring case. */
export const searchPattern = (text: string): RegExp =>
  new RegExp(text.slice(0, LONGEST_QUERY).replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");

/** The first match in each text of an item. */
export function itemHits(
  item: TimelineItem,
  bodies: Record<string, CallBody>,
  pattern: RegExp,
  agent: string | null,
): SearchHit[] {
  const hits: SearchHit[] = [];
  for (const { kind, call, text: read } of itemTexts(item, bodies)) {
    const text = read();
    const found = pattern.exec(text);
    if (!found) continue;
    const [match] = found;
    const end = found.index + match.length;
    hits.push({
      item: item.index,
      key: item.key,
      turn: item.turn,
      agent,
      call: call?.index ?? null,
      where: kind,
      before: text.slice(Math.max(0, found.index - CONTEXT), found.index),
      match,
      after: text.slice(end, end + CONTEXT),
    });
  }
  return hits;
}
