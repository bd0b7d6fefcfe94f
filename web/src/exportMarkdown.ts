/** An item as Markdown, to copy from an exported page. */

import { isPrompt, itemTexts, type ItemText } from "./itemTexts";
import type { TimelineItem } from "./values";

export function itemMarkdown(item: TimelineItem): string {
  const texts = itemTexts(item).filter(({ part }) => part.part !== "nodes" || !part.title);
  return `${texts.map((text) => textMarkdown(text, item)).filter(Boolean).join("\n\n")}\n`;
}

function textMarkdown({ kind, call, text }: ItemText, item: TimelineItem): string {
  if (call) return `- **${call.label || call.name}** ${call.title}${call.note ? ` → ${call.note}` : ""}`;
  const read = text();
  if (!read) return "";
  if (kind === "thinking") return `<details><summary>thinking</summary>\n\n${read}\n\n</details>`;
  return isPrompt(item) ? read.replace(/^/gm, "> ") : read;
}
