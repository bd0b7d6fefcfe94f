/** The JSON that `reread show -f json` prints: of each value, the fields that the components read. */

import type { AgentValue, BranchValue, CacheBreak, CallValue, MessageValue, SessionValue, Usage } from "./jsonValues";

export type { Usage } from "./jsonValues";

/** A content block as recorded, such as a text, a thinking block, a tool use or an image. */
export interface ContentBlock {
  type: string;
  text?: string;
  thinking?: string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  content?: unknown;
  is_error?: boolean;
  source?: { type?: string; media_type?: string; data?: string; url?: string };
}

export type SessionMessage = Pick<MessageValue, "id" | "role" | "kind" | "timestamp" | "model" | "text"> &
  Partial<Pick<MessageValue, "branch" | "flags">> & { blocks: ContentBlock[]; usage?: Usage | null };

/** A call; without nodes, its input and its result are shown as they are. */
export type SessionCall = Pick<CallValue, "id" | "name" | "input"> &
  Partial<Pick<CallValue, "title" | "state" | "duration" | "nodes" | "agent">> & { result: ContentBlock | null };

export type SessionBranch = Pick<BranchValue, "id" | "active" | "parent" | "fork" | "messages">;

export type SessionCacheBreak = Pick<CacheBreak, "message" | "cause" | "detail" | "tokens" | "cost_usd">;

/** A conversation: that of a session, or of an agent. */
export interface SessionConversation {
  id: string;
  messages: SessionMessage[];
  calls: SessionCall[];
  branches?: SessionBranch[];
  cache_breaks?: SessionCacheBreak[];
}

export type SessionAgent = SessionConversation & Pick<AgentValue, "type" | "prompt"> & { usage?: Usage };

export type Session = SessionConversation &
  Pick<SessionValue, "title" | "project" | "models" | "started" | "usage"> & { agents: Record<string, SessionAgent> };

/** The same as TypeScript sees it in an imported JSON file: it takes every name in it for any string. */
export interface ImportedSession {
  id: string;
  title: string;
  messages: readonly object[];
  calls: readonly object[];
  branches: readonly object[];
  agents: object;
}
