import { duration } from "../kit/format";
import type { Part, ThinkingPart, TimelineItem } from "../data/values";

/** The thinking before a call, which is shown with it instead of on a line of its own; null if there is none. */
export function joinedThinking(item: TimelineItem, at: number): ThinkingPart | null {
  const before = item.parts[at - 1];
  return item.parts[at]?.part === "call" && before?.part === "thinking" ? before : null;
}

/** "3.9 s of thinking", or only "thinking". */
export const thinkingText = ({ seconds }: ThinkingPart): string => (seconds === null ? "thinking" : `${duration(seconds)} of thinking`);

/** The parts without thinking that is shown with the call after it. */
export const withoutJoined = (item: TimelineItem, parts: Part[]): Part[] =>
  parts.filter((part) => {
    const at = part.part === "thinking" ? item.parts.indexOf(part) + 1 : -1;
    return at < 0 || joinedThinking(item, at) === null || !parts.includes(item.parts[at] as Part);
  });
