/** The records of a transcript as messages: one for each response, with the results of its calls. */

import type { ContentBlock, SessionCall, SessionConversation, SessionMessage } from "./sessionJson";

/** A line of a transcript, as Claude Code writes it, or of a stream. */
export interface TranscriptRecord {
  type: string;
  uuid?: string;
  timestamp?: string;
  isMeta?: boolean;
  isSidechain?: boolean;
  /** In a stream, the call of the agent that wrote it. */
  parent_tool_use_id?: string | null;
  message?: {
    id?: string;
    role?: string;
    model?: string;
    content?: string | ContentBlock[];
    usage?: { input_tokens?: number; output_tokens?: number };
  };
}

export const isRecord = (message: object): message is TranscriptRecord => "type" in message;

/** The conversation of these records. Responses are streamed in several records, which share an id: their blocks are joined. */
export function fromRecords(records: readonly TranscriptRecord[]): SessionConversation {
  const messages: SessionMessage[] = [];
  const responses = new Map<string, SessionMessage>();
  const calls = new Map<string, SessionCall>();
  for (const record of records) {
    const { message } = record;
    if (!message || (record.type !== "user" && record.type !== "assistant") || record.isSidechain || record.parent_tool_use_id) continue;
    const blocks = toBlocks(message.content);
    for (const block of blocks) {
      if (block.type === "tool_use" && block.id && !calls.has(block.id)) calls.set(block.id, callOf(block));
      const answered = block.type === "tool_result" && block.tool_use_id ? calls.get(block.tool_use_id) : undefined;
      if (answered) Object.assign(answered, { result: block, state: block.is_error ? "failed" : "done" });
    }
    const shown = blocks.filter(({ type, tool_use_id }) => type !== "tool_result" || !calls.has(tool_use_id ?? ""));
    const known = record.type === "assistant" && message.id ? responses.get(message.id) : undefined;
    if (known) known.blocks.push(...shown.filter((block) => !known.blocks.some((other) => isSame(other, block))));
    else if (shown.length) {
      const added = messageOf(record, shown, messages.length);
      messages.push(added);
      if (record.type === "assistant" && message.id) responses.set(message.id, added);
    }
  }
  return { id: "", messages, calls: [...calls.values()] };
}

export const toBlocks = (content: unknown): ContentBlock[] => {
  if (typeof content === "string") return content ? [{ type: "text", text: content }] : [];
  return Array.isArray(content) ? content.filter((block): block is ContentBlock => typeof block?.type === "string") : [];
};

const callOf = (block: ContentBlock): SessionCall => ({
  id: block.id ?? "",
  name: block.name ?? "",
  state: "running",
  input: block.input,
  result: null,
});

const isSame = (one: ContentBlock, other: ContentBlock): boolean =>
  one.type === other.type && (one.id ?? null) === (other.id ?? null) && one.text === other.text && one.thinking === other.thinking;

function messageOf(record: TranscriptRecord, blocks: ContentBlock[], index: number): SessionMessage {
  const role = record.type;
  return {
    id: record.message?.id ?? record.uuid ?? String(index),
    role,
    kind: role === "assistant" ? "response" : record.isMeta ? "meta" : "prompt",
    timestamp: record.timestamp ?? null,
    model: record.message?.model ?? null,
    text: blocks.flatMap(({ text }) => text ?? []).join("\n\n"),
    blocks,
    branch: 0,
  };
}
