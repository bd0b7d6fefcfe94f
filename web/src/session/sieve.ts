/** Which parts of a passage a filter keeps. */

import type { Sieve } from "../source";
import type { Part, Passage } from "../values";

export const EVERYTHING: Sieve = { kinds: [], tools: [], errors: false };

export const keepsAll = (sieve: Sieve): boolean => !sieve.kinds.length && !sieve.tools.length && !sieve.errors;

export const KINDS = ["prompt", "text", "thinking", "call"] as const;

export function keptParts(passage: Passage, sieve: Sieve | null): Part[] {
  if (!sieve || keepsAll(sieve)) return passage.parts;
  const kept = passage.parts.filter((part) => keeps(part, passage, sieve));
  return kept.length ? kept : passage.parts;
}

function keeps(part: Part, passage: Passage, sieve: Sieve): boolean {
  if (part.part === "call") {
    if (sieve.errors && part.state !== "failed") return false;
    if (sieve.tools.length) return sieve.tools.includes(part.name);
    return sieve.errors || sieve.kinds.includes("call");
  }
  if (sieve.errors) return passage.flags.includes("error");
  const kind = passage.kind === "prompt" || passage.kind === "command" ? "prompt" : part.part;
  return sieve.kinds.includes(kind);
}
