/** React components that show Claude Code sessions: the entry point of the npm package `reread-react`. */

import { setWorker } from "../kit/workerStart";
import TextWorker from "../kit/textWorker?worker&inline";

setWorker(() => new TextWorker());

export { MessageHeader, type MessageHeaderProps } from "./MessageHeader";
export * from "./pieces";
export { fromRecords, type TranscriptRecord } from "./records";
export { SessionRenderer, type SessionRendererProps } from "./SessionRenderer";
export type * from "./sessionJson";
export type { StreamMessage } from "./streamValues";
export type * as stream from "./streamValues";
