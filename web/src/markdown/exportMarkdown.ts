/** An item as Markdown, to copy from an exported page; nothing in it can break out of its place. */

import { isPrompt, itemTexts, type ItemText } from "../search/itemTexts";
import { fenced, folded, guarded, inline, quoted } from "./markdownText";
import type { TimelineItem } from "../data/values";

export function itemMarkdown(item: TimelineItem): string {
  const texts = itemTexts(item).filter(({ part }) => part.part !== "nodes" || !part.title);
  return `${texts.map((text) => textMarkdown(text, item)).filter(Boolean).join("\n\n")}\n`;
}

function textMarkdown({ kind, part, call, text }: ItemText, item: TimelineItem): string {
  if (call) return `- **${inline(call.label || call.name)}** ${inline(call.title)}${call.note ? ` → ${inline(call.note)}` : ""}`;
  const read = text();
  if (!read) return "";
  if (kind === "thinking") return folded("thinking", guarded(read));
  if (part.part === "nodes") return fenced(read);
  return isPrompt(item) ? quoted(guarded(read)) : guarded(read);
}
