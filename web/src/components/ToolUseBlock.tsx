/** A tool call on one line; opened, its input and its result, and the conversation of the agent that it started. */

import { use, useId, useMemo } from "react";
import { NodeList } from "../nodes/NodeList";
import { CallRow } from "../parts/CallRow";
import { inProject } from "../kit/format";
import type { Node } from "../values";
import { callsById, ConversationContext } from "./conversation";
import { resultNodes } from "./resultNodes";
import { Root } from "./Root";
import type { ContentBlock, SessionAgent, SessionCall } from "./sessionJson";

export interface ToolUseBlockProps {
  name: string;
  input: unknown;
  /** The block with the result; null while the call is running. */
  result?: ContentBlock | null;
  /** The call as `reread show -f json` describes it, with a title and how to draw it. */
  call?: SessionCall | undefined;
}

export function ToolUseBlock({ name, input, result = null, call }: ToolUseBlockProps) {
  const { agents, project } = use(ConversationContext);
  const id = useId();
  const agent = call?.agent ? agents[call.agent] : undefined;
  const title = call?.title ?? "";
  const labelled = !title || title === name || title.startsWith(`${name} `);
  return (
    <Root>
      <div className={`call ${stateOf(result, call)}`} data-call={call?.id}>
        <CallRow
          name={id}
          label={labelled ? name : ""}
          title={inProject(labelled ? title.slice(name.length).trim() || firstValue(input) : title, project)}
          tooltip={title}
          state={stateOf(result, call)}
          seconds={call?.duration ?? null}
        >
          {() => (
            <>
              <NodeList nodes={call?.nodes ?? plainNodes(input, result)} place={id} />
              {agent && <Agent agent={agent} />}
            </>
          )}
        </CallRow>
      </div>
    </Root>
  );
}

function Agent({ agent }: { agent: SessionAgent }) {
  const outer = use(ConversationContext);
  const List = outer.messageList;
  const conversation = useMemo(() => ({ ...outer, calls: callsById(agent.calls) }), [outer, agent]);
  return (
    <div className="agent">
      <p className="label">◇ {agent.type ?? "agent"}</p>
      <div className="indented">
        <ConversationContext value={conversation}>
          {List && <List messages={agent.messages} />}
        </ConversationContext>
      </div>
    </div>
  );
}

function stateOf(result: ContentBlock | null, call: SessionCall | undefined): string {
  if (call?.state) return call.state;
  return result ? (result.is_error ? "failed" : "done") : "running";
}

/** The first text of an input, as the title of a call that has none. */
function firstValue(input: unknown): string {
  const values = input && typeof input === "object" ? Object.values(input) : [input];
  return String(values.find((value) => typeof value === "string") ?? "").split("\n")[0] ?? "";
}

const plainNodes = (input: unknown, result: ContentBlock | null): Node[] => [
  { node: "data", value: input },
  ...(result ? resultNodes([result]) : []),
];
