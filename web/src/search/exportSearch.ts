/** Search in an exported page: the texts that the server searches (`reader/session_search.py`), packed with each item. */

import type { SearchText } from "../data/embedded";
import type { TextMatcher } from "./textMatcher";
import type { SearchHit, TimelineItem } from "../data/values";

/** Characters of context on each side of a hit. */
const CONTEXT = 60;

/** The match in each text of an item. */
export const itemHits = (
  item: TimelineItem,
  texts: SearchText[],
  matcher: TextMatcher,
  agent: string | null,
): SearchHit[] =>
  texts.flatMap((searched) => {
    const found = matcher.find(searched);
    if (!found) return [];
    const { text, span } = found;
    const [start, end] = span;
    return [
      {
        item: item.index,
        key: item.key,
        turn: item.turn,
        agent,
        call: searched.call ?? null,
        where: searched.where,
        tool: searched.tool ?? null,
        before: [...text.slice(Math.max(0, start - 2 * CONTEXT), start)].slice(-CONTEXT).join(""),
        match: text.slice(start, end),
        after: [...text.slice(end, end + 2 * CONTEXT)].slice(0, CONTEXT).join(""),
      },
    ];
  });
