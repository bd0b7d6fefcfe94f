/** An agent's conversation inside the one that started it. */

import { useEffect } from "react";
import { useMessage, useThreadStore } from "../contexts";
import { Cost, Count } from "../kit/Figure";
import { duration, plural } from "../kit/format";
import { useKept } from "../kit/kept";
import { PlainText } from "../kit/PlainText";
import { useVersion } from "../kit/store";
import { useAsync } from "../kit/useAsync";
import { Collapsible } from "../parts/Collapsible";
import { sessionHref } from "../route";
import { ThreadProvider } from "./ThreadProvider";
import type { ThreadStore } from "../data/threadStore";
import type { AgentInfo } from "../data/values";

/** The number of items shown at first. */
const FIRST = 30;

/** The agents of a call, for its header. */
export function AgentSummary({ agents }: { agents: AgentInfo[] }) {
  const [first] = agents;
  if (!first) return null;
  if (agents.length > 1) return <span className="agent-summary"> ◇ {plural(agents.length, "agent")}</span>;
  return (
    <span className="agent-summary">
      {" ◇ "}
      <AgentFigures agent={first} timed={false} />
    </span>
  );
}

/** What an agent did; without its time if that stands elsewhere. */
export function AgentFigures({ agent, timed = true }: { agent: AgentInfo; timed?: boolean }) {
  return (
    <>
      {plural(agent.calls, "call")}
      {agent.errors > 0 && <span className="failed"> · {agent.errors} ✗</span>}
      {agent.figures.tokens > 0 && (
        <>
          {" · "}
          <Count value={agent.figures.tokens} unit="tokens" /> tokens
        </>
      )}
      {agent.figures.cost_usd !== null && (
        <>
          {" · "}
          <Cost figures={agent.figures} />
        </>
      )}
      {timed && agent.seconds !== null && ` · ${duration(agent.seconds)}`}
      {agent.running && " · running"}
    </>
  );
}

/** The only agent of a call, whose header already describes it. */
export function SingleAgent({ agent }: { agent: AgentInfo }) {
  return (
    <div className="agent">
      <OpenAgentLink agent={agent} />
      <div className="indented">
        <AgentThread agent={agent} />
      </div>
    </div>
  );
}

/** One of several agents of a call. */
export function CollapsibleAgent({ agent }: { agent: AgentInfo }) {
  return (
    <Collapsible
      name={`agent:${agent.id}`}
      className="agent"
      header={
        <span className="call-title">
          <span aria-hidden="true">◇ </span>
          <PlainText text={[agent.type, agent.title].filter(Boolean).join(": ")} />
          <span className="agent-summary">
            {" "}
            <AgentFigures agent={agent} />
          </span>
        </span>
      }
      trailing={<OpenAgentLink agent={agent} />}
    >
      {() => <AgentThread agent={agent} />}
    </Collapsible>
  );
}

function OpenAgentLink({ agent }: { agent: AgentInfo }) {
  const { source, thread } = useThreadStore();
  if (!source.can.link) return null;
  return (
    <a
      className="link-button open-agent"
      href={sessionHref({ session: thread.session, agent: agent.id })}
      title="Open this agent on its own page"
    >
      Open
    </a>
  );
}

function AgentThread({ agent }: { agent: AgentInfo }) {
  const parent = useThreadStore();
  const opened = parent.openedAgent(agent.id);
  const loaded = useAsync(agent.id, () => (opened ? Promise.resolve(opened) : parent.openAgent(agent.id)));
  const store = opened ?? (loaded.state === "ready" ? loaded.value : null);
  if (store) return <AgentItems store={store} />;
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  return <p className="muted loading">Loading…</p>;
}

function AgentItems({ store }: { store: ThreadStore }) {
  const Message = useMessage();
  useVersion(store);
  const [shown, setShown] = useKept(`messages of ${store.thread.agent}`, FIRST);
  useEffect(() => store.request(0, shown - 1));
  const count = Math.min(shown, store.total);
  return (
    <ThreadProvider store={store}>
      {Array.from({ length: count }, (_, index) => {
        const item = store.item(index);
        return item && <Message key={index} item={item} />;
      })}
      {count < store.total && (
        <button type="button" className="show-more" onClick={() => setShown(shown + FIRST * 2)}>
          Show {plural(store.total - count, "more message")}
        </button>
      )}
    </ThreadProvider>
  );
}
