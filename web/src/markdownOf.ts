/** A passage as Markdown, for copying out of an exported page. */

import type { Part, Passage } from "./values";

export const passageMarkdown = (passage: Passage): string =>
  `${passage.parts.map((part) => partMarkdown(part, passage)).filter(Boolean).join("\n\n")}\n`;

function partMarkdown(part: Part, passage: Passage): string {
  switch (part.part) {
    case "text":
      return passage.kind === "prompt" ? part.text.replace(/^/gm, "> ") : part.text;
    case "thinking":
      return part.text && `<details><summary>thinking</summary>\n\n${part.text}\n\n</details>`;
    case "call":
      return `- **${part.label || part.name}** ${part.title}${part.note ? ` → ${part.note}` : ""}`;
    case "compaction":
      return part.summary;
    default:
      return "";
  }
}
