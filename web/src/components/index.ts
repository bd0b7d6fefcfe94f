/** React components that show Claude Code sessions: the entry point of the npm package `reread-react`. */

import { setWorker } from "../kit/offThread";
import TextWorker from "../kit/textWorker?worker&inline";

setWorker(() => new TextWorker());

export { ContentBlocks, type ContentBlocksProps } from "./ContentBlocks";
export { Message, type MessageProps } from "./Message";
export { MessageHeader, type MessageHeaderProps } from "./MessageHeader";
export { MessageList, type MessageListProps } from "./MessageList";
export { fromRecords, type TranscriptRecord } from "./records";
export { SessionRenderer, type SessionRendererProps } from "./SessionRenderer";
export { TextBlock, type TextBlockProps } from "./TextBlock";
export { ThinkingBlock, type ThinkingBlockProps } from "./ThinkingBlock";
export { ToolUseBlock, type ToolUseBlockProps } from "./ToolUseBlock";
export type * from "./sessionJson";
