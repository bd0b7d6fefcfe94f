/** What the blocks of a conversation need to know of it: its calls, and the agents of the session. */

import { createContext, type ComponentType } from "react";
import type { SessionAgent, SessionCall, SessionConversation, SessionMessage } from "./sessionJson";

export interface Conversation {
  calls: ReadonlyMap<string, SessionCall>;
  agents: Readonly<Record<string, SessionAgent>>;
  /** The folder of the session, with which paths in titles begin. */
  project: string;
  /** The component that shows an agent's messages inside a call, which cannot import it: it contains calls. */
  messageList?: ComponentType<{ messages: readonly SessionMessage[] }>;
}

export const ConversationContext = createContext<Conversation>({ calls: new Map(), agents: {}, project: "" });

export const callsById = (calls: readonly SessionCall[]): Map<string, SessionCall> =>
  new Map(calls.map((call) => [call.id, call]));

/** The messages of a branch, in order; those of the active branch if none is named. */
export function branchMessages({ messages, branches = [] }: SessionConversation, branch?: number): SessionMessage[] {
  const found = branches.find(({ id, active }) => (branch === undefined ? active : id === branch));
  if (!found || branches.length < 2) return messages;
  const places = new Map(messages.map(({ id }, place) => [id, place]));
  const byId = new Map(branches.map((each) => [each.id, each]));
  const last = new Map([[found.id, messages.length]]);
  for (let at = found; at.parent !== null && !last.has(at.parent); ) {
    last.set(at.parent, (at.fork === null ? undefined : places.get(at.fork)) ?? -1);
    const parent = byId.get(at.parent);
    if (!parent) break;
    at = parent;
  }
  return messages.filter(({ branch: own }, place) => place <= (last.get(own ?? 0) ?? -1));
}
