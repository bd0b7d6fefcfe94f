/** Agents in the outline, each with a mark of its own. */

import { useThreadStore } from "../contexts";
import { LiveDot } from "../kit/LiveDot";
import { exact, plural } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import { sessionHref } from "../route";
import type { AgentInfo } from "../data/values";
import type { PlacedAgent } from "./placeAgents";

const DEEPEST = 4;

interface Props {
  agents: PlacedAgent[];
  /** How many are shown; the rest on request. */
  most: number;
  label: string;
  onMore(): void;
}

export function OutlineAgents({ agents, most, label, onMore }: Props) {
  // A button for a single row would take its place.
  const shown = agents.length > most + 1 ? agents.slice(0, most) : agents;
  return (
    <ul className="outline-agents" aria-label={label}>
      {shown.map(({ agent, depth }) => (
        <li key={agent.id} style={{ paddingLeft: Math.min(depth, DEEPEST) * 16 }}>
          <AgentLink agent={agent} />
        </li>
      ))}
      {shown.length < agents.length && (
        <li>
          <button type="button" className="turn link-button" onClick={onMore}>
            {exact(agents.length - shown.length)} more agents
          </button>
        </li>
      )}
    </ul>
  );
}

function AgentLink({ agent }: { agent: AgentInfo }) {
  const { thread } = useThreadStore();
  const { id, type, title, errors, running, failed } = agent;
  const name = [type, title].filter(Boolean).join(": ") || "Agent";
  return (
    <a
      className="turn"
      href={sessionHref({ session: thread.session, agent: id })}
      aria-current={thread.agent === id ? "page" : undefined}
      title={visible(name)}
    >
      <span className={failed ? "turn-number failed" : "turn-number"}>
        <AgentMark running={running} failed={failed} />
      </span>
      <span className="turn-title">
        {type && (
          <span className="agent-type">
            <PlainText text={type} />{" "}
          </span>
        )}
        <PlainText text={title || (type ? "" : "Agent")} />
      </span>
      {!failed && errors > 0 && (
        <span className="failed" title={plural(errors, "error")}>
          ✗ {exact(errors)}
        </span>
      )}
    </a>
  );
}

function AgentMark({ running, failed }: { running: boolean; failed: boolean }) {
  if (running && !failed) return <LiveDot />;
  const [mark, text] = failed ? ["✗", "failed"] : ["◇", "agent"];
  return (
    <span role="img" aria-label={text}>
      {mark}
    </span>
  );
}
