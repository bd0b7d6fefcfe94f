/** Filters: which items to show, and which of their parts. The server uses the same rule (`reader/session_search.py`). */

import { itemTexts, type ItemText, type TextKind } from "./itemTexts";
import type { Filter } from "../data/source";
import type { CallPart, Part, TimelineItem } from "../data/values";

export const NO_FILTER: Filter = { kinds: [], tools: [], errors: false, stopped: false };

export const isEmpty = (filter: Filter): boolean => !filter.kinds.length && !filter.tools.length && !filter.errors;

/** The name that a filter has for each kind of text. */
const FILTER_KINDS: Record<TextKind, string> = {
  prompt: "prompts",
  text: "text",
  thinking: "thinking",
  call: "tools",
  notice: "notices",
};

export const matchesFilter = (item: TimelineItem, filter: Filter): boolean =>
  isEmpty(filter) || itemTexts(item).some((text) => matches(text, item, filter));

/** The parts that match; all of them if none does. */
export function matchingParts(item: TimelineItem, filter: Filter | null): Part[] {
  if (!filter || isEmpty(filter)) return item.parts;
  const matching = new Set(itemTexts(item).filter((text) => matches(text, item, filter)).map(({ part }) => part));
  return matching.size ? [...matching] : item.parts;
}

const isTrouble = ({ state }: CallPart, { stopped }: Filter): boolean =>
  state === "failed" || (stopped && (state === "denied" || state === "interrupted"));

/** The calls of an item that failed, were denied or interrupted. */
export const troubles = (item: TimelineItem | undefined): CallPart[] =>
  (item?.parts ?? []).filter((part): part is CallPart => part.part === "call" && isTrouble(part, TROUBLE));

/** The filter for everything that did not end well. */
export const TROUBLE: Filter = { ...NO_FILTER, errors: true, stopped: true };

/** True if the text is of one of the kinds or of a call to one of the tools, and, if the filter asks for errors, is one. */
function matches({ kind, call }: ItemText, item: TimelineItem, filter: Filter): boolean {
  const narrows = filter.kinds.length > 0 || filter.tools.length > 0;
  const named = call !== null && filter.tools.includes(call.name);
  if (narrows && !named && !filter.kinds.includes(FILTER_KINDS[kind])) return false;
  return !filter.errors || (call ? isTrouble(call, filter) : item.kind === "error");
}
