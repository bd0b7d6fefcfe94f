/** The plain text of messages, which a server writes. */

import type { ContentBlock, SessionMessage } from "./sessionJson";

/** The rest of longer conversations is left to the page. */
const MOST_CHARACTERS = 100_000;

export function plainMessages(messages: readonly SessionMessage[]): string {
  let text = "";
  for (const message of messages) {
    if (text.length > MOST_CHARACTERS) return `${text.slice(0, MOST_CHARACTERS)}…`;
    const own = message.text.trim();
    if (own && message.kind !== "meta") text += `${text && "\n\n"}${own}`;
  }
  return text;
}

export const plainBlocks = (blocks: readonly ContentBlock[]): string =>
  blocks.flatMap(({ type, text }) => (type === "text" && text ? [text] : [])).join("\n\n");
