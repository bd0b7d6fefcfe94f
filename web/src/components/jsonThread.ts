/** The messages of a conversation in JSON as the items that the reader draws. */

import type { AgentInfo, CallPart, Figures, NodesPart, Overview, Part, TimelineItem } from "../data/values";
import { money, tokens } from "../kit/format";
import { resultNodes } from "./resultNodes";
import type { ContentBlock, Session, SessionAgent, SessionBranch, SessionCacheBreak, SessionCall, SessionConversation, SessionMessage, Usage } from "./sessionJson";

/** A conversation, and what is known of its session. */
export interface Conversation extends Partial<Pick<Session, "project" | "agents" | "cache_breaks">> {
  messages: readonly SessionMessage[];
  calls: readonly SessionCall[];
}

/** Kinds that are closed until they are opened. */
const CLOSED = new Set(["meta", "summary"]);

export class JsonThread {
  readonly items: TimelineItem[];
  /** The calls by their index. */
  readonly calls: SessionCall[] = [];
  private readonly known: Map<string, SessionCall>;
  private readonly breaks = new Map<string, string>();

  constructor(private readonly conversation: Conversation) {
    this.known = new Map(conversation.calls.map((call) => [call.id, call]));
    for (const found of conversation.cache_breaks ?? []) this.breaks.set(found.message, breakText(found));
    this.items = conversation.messages.map((message, index) => this.item(message, index));
  }

  get overview(): Overview {
    const { project = "" } = this.conversation;
    return { ...NO_OVERVIEW, project, items: this.items.length };
  }

  private item(message: SessionMessage, index: number): TimelineItem {
    const { id, kind, role, timestamp, model, usage, flags = [] } = message;
    const parts = CLOSED.has(kind) ? closedParts(message) : blocksOf(message).flatMap((block) => this.parts(block));
    const figures = usage ? figuresOf(usage) : null;
    const found = this.breaks.get(id);
    const cache_breaks = found === undefined ? [] : [found];
    return { ...NO_ITEM, index, key: id, kind, author: role, time: timestamp, model, flags, figures, parts, cache_breaks };
  }

  private parts(block: ContentBlock): Part[] {
    const { type, text = "", thinking = "" } = block;
    if (type === "text") return text.trim() ? [{ part: "text", text, chars: null }] : [];
    if (type === "thinking" || type === "redacted_thinking") return [{ part: "thinking", text: thinking, chars: null, seconds: null }];
    if (type.endsWith("tool_use")) return [this.call(this.known.get(block.id ?? "") ?? unanswered(block))];
    // The result of a call is shown with the call.
    if (type.endsWith("tool_result") && this.known.has(block.tool_use_id ?? "")) return [];
    return [nodesPart([block])];
  }

  private call(call: SessionCall): CallPart {
    const { id, name, input, result, title = "", duration: seconds = null } = call;
    const labelled = !title || title === name || title.startsWith(`${name} `);
    const agent = this.conversation.agents?.[call.agent ?? ""];
    return {
      part: "call",
      index: this.calls.push(call) - 1,
      id,
      name,
      label: labelled ? name : "",
      title: labelled ? title.slice(name.length).trim() || firstText(input) : title,
      category: "",
      state: call.state ?? (result ? (result.is_error ? "failed" : "done") : "running"),
      detail: "",
      note: "",
      seconds,
      line: 0,
      agents: agent ? [agentInfo(call.agent ?? "", agent)] : [],
      quiet: "",
    };
  }
}

const NO_ITEM = { turn: 0, line: 0, after: null, title: "", label: "", responses: [], fields: null, seconds: null, commits: [], pull_requests: [], context: null, grew: null, new_model: null };

/** The cause of a cache break in words, if it has no detail. */
const CAUSES: Record<string, string> = {
  tools_changed: "tools changed",
  system_changed: "system prompt changed",
  messages_changed: "earlier messages changed",
  model_changed: "model switched",
  idle_over_5m: "idle over 5 minutes",
  idle_over_1h: "idle over an hour",
  compaction: "compacted",
  context_edited: "old results cleared",
  rewind: "rewound",
  resume: "resumed",
  agent_start: "agent started",
  settings_changed: "effort, thinking or speed changed",
  shortened: "prompt became shorter",
  partly_cached: "only an earlier part was cached",
  unknown: "cause unknown",
};

/** A cache break on one line, as the reader and the command line write it. */
function breakText({ cause, detail, tokens: written, cost_usd: cost }: SessionCacheBreak): string {
  const words = [detail || (CAUSES[cause] ?? cause), `${tokens(written)} tokens`, ...(cost === null ? [] : [money(cost)])];
  return `cache rewritten: ${words.join(" · ")}`;
}

const NO_OVERVIEW: Overview = {
  key: "", id: "", title: "", project: "", project_guessed: false, path: null, git_branches: [], versions: [], models: [], dialects: [],
  started: null, ended: null, live: false, turns: 0, items: 0, branch: 0, branches: [], agents: [], agent_turns: {}, agent: null, tools: {},
  errors: 0, malformed: 0, replaced: false, state: [],
};

/** The blocks of a response; of other messages the text without the client's markup, and the blocks that are no text. */
function blocksOf({ kind, text, blocks }: SessionMessage): ContentBlock[] {
  return kind === "response" ? blocks : [{ type: "text", text }, ...blocks.filter(({ type }) => type !== "text")];
}

function closedParts(message: SessionMessage): NodesPart[] {
  const [, ...others] = blocksOf({ ...message, kind: "" });
  const { nodes, ...part } = nodesPart(others, "Text");
  return [{ ...part, nodes: [{ node: "prose", text: message.text }, ...nodes] }];
}

const nodesPart = (blocks: ContentBlock[], title = ""): NodesPart => ({ part: "nodes", nodes: resultNodes(blocks), title, cut: [], folded: false });

const unanswered = ({ id = "", name = "", input }: ContentBlock): SessionCall => ({ id, name, input, result: null });

/** The first text of an input, as the title of a call that has none. */
function firstText(input: unknown): string {
  const values = input && typeof input === "object" ? Object.values(input) : [input];
  return String(values.find((value) => typeof value === "string") ?? "").split("\n")[0] ?? "";
}

const agentInfo = (id: string, { type, prompt, calls, usage }: SessionAgent): AgentInfo => ({
  id,
  type,
  title: prompt ?? "",
  calls: calls.length,
  errors: calls.filter(({ state }) => state === "failed").length,
  figures: figuresOf(usage),
  seconds: null,
  running: false,
  failed: false,
  parent: null,
  call: null,
});

/** Tokens and cost, as the reader counts them. */
export const figuresOf = (usage: Usage | null | undefined): Figures => ({
  tokens: usage
    ? usage.input_tokens + usage.output_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens + usage.cache_read_tokens
    : 0,
  output_tokens: usage?.output_tokens ?? 0,
  cost_usd: usage?.cost_usd ?? null,
  unconfirmed_responses: usage?.unconfirmed_responses ?? 0,
  unpriced_models: usage?.unpriced_models ?? [],
});

/** The messages of a branch, in order; those of the active branch if none is named. */
export function branchMessages({ messages, branches = [] }: SessionConversation, branch?: number): SessionMessage[] {
  const found = branches.find(({ id, active }) => (branch === undefined ? active : id === branch));
  if (!found || branches.length < 2) return messages;
  const places = new Map(messages.map(({ id }, place) => [id, place]));
  const byId = new Map<number, SessionBranch>(branches.map((each) => [each.id, each]));
  const last = new Map([[found.id, messages.length]]);
  for (let at = found; at.parent !== null && !last.has(at.parent); ) {
    last.set(at.parent, (at.fork === null ? undefined : places.get(at.fork)) ?? -1);
    const parent = byId.get(at.parent);
    if (!parent) break;
    at = parent;
  }
  return messages.filter(({ branch: own }, place) => place <= (last.get(own ?? 0) ?? -1));
}
