/** Filters: which passages one wants to see, and which of their parts. The rule is the server's (`finding.py`). */

import type { Filter } from "./source";
import type { Part, Passage } from "./values";

export const EVERYTHING: Filter = { kinds: [], tools: [], errors: false };

export const keepsAll = (filter: Filter): boolean => !filter.kinds.length && !filter.tools.length && !filter.errors;

export const isPrompt = (passage: Passage): boolean => passage.kind === "prompt" || passage.kind === "command";

/** Where the words of a part stand, as search results call it. */
export type Where = "prompt" | "text" | "thinking" | "call" | "notice";

const KINDS: Record<Where, string> = {
  prompt: "prompts",
  text: "text",
  thinking: "thinking",
  call: "tools",
  notice: "notices",
};

/** Where a part stands; what has a title of its own, and is closed, was told aside. A fork says nothing. */
export function whereOf(part: Part, passage: Passage): Where | null {
  if (part.part === "fork") return null;
  if (part.part === "call" || part.part === "thinking") return part.part;
  if (part.part === "compaction" || (part.part === "nodes" && part.title)) return "notice";
  return isPrompt(passage) ? "prompt" : passage.kind === "response" ? "text" : "notice";
}

/** The parts that fit; a passage of which none does is shown whole. */
export function keptParts(passage: Passage, filter: Filter | null): Part[] {
  if (!filter || keepsAll(filter)) return passage.parts;
  const kept = passage.parts.filter((part) => fitsPart(part, passage, filter));
  return kept.length ? kept : passage.parts;
}

export const fitsFilter = (passage: Passage, filter: Filter): boolean =>
  keepsAll(filter) || passage.parts.some((part) => fitsPart(part, passage, filter));

/** Whether a part is of one of the kinds or a call of one of the tools; and a failure, where that is asked. */
function fitsPart(part: Part, passage: Passage, filter: Filter): boolean {
  const where = whereOf(part, passage);
  const named = part.part === "call" && filter.tools.includes(part.name);
  const narrows = filter.kinds.length > 0 || filter.tools.length > 0;
  if (narrows && !named && !(where && filter.kinds.includes(KINDS[where]))) return false;
  return !filter.errors || (part.part === "call" ? part.is_error : passage.kind === "error");
}
