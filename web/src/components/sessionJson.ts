/** The JSON that `reread show -f json` prints: the fields that the components read. */

import type { Node } from "../values";

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

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cache_write_5m_tokens: number;
  cache_write_1h_tokens: number;
  cache_read_tokens: number;
  cost_usd: number | null;
  unconfirmed_responses: number;
  unpriced_models: string[];
}

export interface SessionMessage {
  id: string;
  role: string;
  kind: string;
  timestamp: string | null;
  model: string | null;
  text: string;
  blocks: ContentBlock[];
  usage?: Usage | null;
  branch: number;
  flags?: string[];
}

export interface SessionCall {
  id: string;
  name: string;
  title?: string;
  /** running, done, failed, denied or interrupted. */
  state?: string;
  input: unknown;
  result: ContentBlock | null;
  duration?: number | null;
  /** How reread draws the call; without them, the input and the result are shown as they are. */
  nodes?: Node[];
  /** The id of the agent that the call started. */
  agent?: string | null;
}

export interface SessionBranch {
  id: number;
  active: boolean;
  /** The branch it leaves, and the message after which it does. */
  parent: number | null;
  fork: string | null;
}

/** A conversation: that of a session, or of an agent. */
export interface SessionConversation {
  id: string;
  messages: SessionMessage[];
  calls: SessionCall[];
  branches?: SessionBranch[];
}

export interface SessionAgent extends SessionConversation {
  type: string | null;
  prompt: string | null;
}

export interface Session extends SessionConversation {
  title: string;
  project: string;
  models: string[];
  started: string | null;
  usage: Usage;
  agents: Record<string, SessionAgent>;
}
