/** Messages and blocks by themselves, drawn as in a whole session. */

import { useMemo, type ReactNode } from "react";
import * as parts from "../parts/ContentBlocks";
import * as messages from "../parts/Message";
import { Conversation } from "./Conversation";
import { HeadedMessage, MessageRows } from "./MessageRows";
import { plainBlocks, plainMessages } from "./plainText";
import type { ContentBlock, SessionCall, SessionMessage } from "./sessionJson";

export interface MessageListProps {
  messages: readonly SessionMessage[];
}

export function MessageList({ messages }: MessageListProps) {
  const conversation = useMemo(() => ({ messages, calls: [] }), [messages]);
  return (
    <Conversation of={conversation} plain={() => plainMessages(messages)}>
      {(items) => <MessageRows items={items} />}
    </Conversation>
  );
}

export interface MessageProps {
  message: SessionMessage;
  /** Shown instead of its content. */
  children?: ReactNode;
}

export function Message({ message, children }: MessageProps) {
  const conversation = useMemo(() => ({ messages: [message], calls: [] }), [message]);
  return (
    <Conversation of={conversation} plain={() => children ?? message.text}>
      {([item]) =>
        item && (children === undefined ? <HeadedMessage item={item} /> : <messages.Message item={item} header={null} children={children} />)
      }
    </Conversation>
  );
}

export interface ContentBlocksProps {
  blocks: readonly ContentBlock[];
}

export const ContentBlocks = ({ blocks }: ContentBlocksProps) => <Blocks blocks={blocks} plain={plainBlocks(blocks)} />;

export interface TextBlockProps {
  /** Markdown. */
  text: string;
}

export function TextBlock({ text }: TextBlockProps) {
  const blocks = useMemo(() => [{ type: "text", text }], [text]);
  return <Blocks blocks={blocks} plain={text} />;
}

export interface ThinkingBlockProps {
  /** Empty if only the signature was recorded. */
  thinking: string;
  /** Whether it is closed at first. */
  collapsed?: boolean;
}

export function ThinkingBlock({ thinking, collapsed = true }: ThinkingBlockProps) {
  const blocks = useMemo(() => [{ type: "thinking", thinking }], [thinking]);
  return <Blocks blocks={blocks} plain={thinking} openThinking={!collapsed} />;
}

export interface ToolUseBlockProps {
  name: string;
  input: unknown;
  /** The block with the result; null while the call is running. */
  result?: ContentBlock | null;
  /** The call as `reread show -f json` describes it, with a title and how to draw it. */
  call?: SessionCall | undefined;
}

export function ToolUseBlock({ name, input, result = null, call }: ToolUseBlockProps) {
  const known = useMemo(() => ({ id: "", ...call, name, input, result }), [name, input, result, call]);
  const blocks = useMemo(() => [{ type: "tool_use", id: known.id }], [known]);
  return <Blocks blocks={blocks} call={known} plain={call?.title || name} />;
}

interface BlocksProps {
  blocks: readonly ContentBlock[];
  call?: SessionCall;
  plain: string;
  openThinking?: boolean;
}

function Blocks({ blocks, call, plain, openThinking = false }: BlocksProps) {
  const conversation = useMemo(() => {
    const message = { id: "", role: "assistant", kind: "response", timestamp: null, model: null, text: "", blocks: [...blocks] };
    return { messages: [message], calls: call ? [call] : [] };
  }, [blocks, call]);
  return (
    <Conversation of={conversation} plain={() => plain} openThinking={openThinking}>
      {([item]) => item && <parts.ContentBlocks item={item} />}
    </Conversation>
  );
}
