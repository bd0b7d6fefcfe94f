import { duration } from "../kit/format";
import type { Part } from "../data/values";

/** Thinking of which only the signature was recorded, in a few words; empty for any other part. */
export function unrecordedThinking(part: Part | undefined): string {
  if (part?.part !== "thinking" || part.text) return "";
  return part.seconds === null ? "thinking" : `${duration(part.seconds)} of thinking`;
}
