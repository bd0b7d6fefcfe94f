/** Filters: which passages one wants to see, and which of their parts. */

import type { Filter } from "./source";
import type { Part, Passage } from "./values";

export const EVERYTHING: Filter = { kinds: [], tools: [], errors: false };

export const keepsAll = (filter: Filter): boolean => !filter.kinds.length && !filter.tools.length && !filter.errors;

export const isPrompt = (passage: Passage): boolean => passage.kind === "prompt" || passage.kind === "command";

/** The parts that fit; a passage of which none does is shown whole. */
export function keptParts(passage: Passage, filter: Filter | null): Part[] {
  if (!filter || keepsAll(filter)) return passage.parts;
  const kept = passage.parts.filter((part) => fitsPart(part, passage, filter));
  return kept.length ? kept : passage.parts;
}

/** Whether a part is of one of the kinds, a call of one of the tools, a failure: each where it is asked. */
export function fitsPart(part: Part, passage: Passage, filter: Filter): boolean {
  if (filter.kinds.length && !filter.kinds.includes(kindOf(part, passage))) return false;
  if (filter.tools.length && !(part.part === "call" && filter.tools.includes(part.name))) return false;
  return !filter.errors || (part.part === "call" ? WRONG.has(part.state) : passage.kind === "error");
}

const WRONG = new Set(["failed", "denied", "interrupted"]);

const KINDS: Partial<Record<Part["part"], string>> = { text: "text", thinking: "thinking", call: "tools", nodes: "text" };

function kindOf(part: Part, passage: Passage): string {
  if (isPrompt(passage)) return "prompts";
  return passage.kind === "response" || passage.kind === "run" ? (KINDS[part.part] ?? "notices") : "notices";
}
