/** Search in an exported page, with the rule of the server (`reader/search.py`). */

import { itemTexts, type ItemText, type TextKind } from "./itemTexts";
import type { TextMatcher, Unit } from "./textMatcher";
import type { CallBody, SearchHit, TimelineItem } from "./values";

/** Characters of context on each side of a hit. */
const CONTEXT = 60;

/** What a query calls each kind of text; a call is one text here, and its input and its result there. */
const UNIT_KINDS: Record<TextKind, string[]> = {
  prompt: ["prompt"],
  text: ["text"],
  thinking: ["thinking"],
  call: ["input", "result"],
  notice: ["notice"],
};

const unitOf = ({ kind, call, text }: ItemText, item: TimelineItem): Unit => ({
  kinds: UNIT_KINDS[kind],
  text: text(),
  tool: call?.name ?? "",
  title: call?.title ?? "",
  error: call ? call.state === "failed" : item.kind === "error",
});

/** The match in each text of an item. */
export function itemHits(
  item: TimelineItem,
  bodies: Record<string, CallBody>,
  matcher: TextMatcher,
  agent: string | null,
): SearchHit[] {
  return itemTexts(item, bodies).flatMap((itemText) => {
    const found = matcher.find(unitOf(itemText, item));
    if (!found) return [];
    const { text, span } = found;
    const [start, end] = span;
    return [
      {
        item: item.index,
        key: item.key,
        turn: item.turn,
        agent,
        call: itemText.call?.index ?? null,
        where: itemText.kind,
        before: text.slice(Math.max(0, start - CONTEXT), start),
        match: text.slice(start, end),
        after: text.slice(end, end + CONTEXT),
      },
    ];
  });
}
