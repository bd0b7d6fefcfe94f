/** An agent's conversation inside the one that started it: a few passages at first, more when asked. */

import { useEffect, useState } from "react";
import { ReadingContext, useReading } from "../contexts";
import { Cost, Count } from "../kit/Figure";
import { useVersion } from "../kit/store";
import { useAsked } from "../kit/useAsked";
import { Plain } from "../kit/visible";
import { duration, plural } from "../kit/words";
import { Fold } from "../parts/Fold";
import { sessionHref } from "../route";
import type { AgentMark, Overview } from "../values";
import { Message } from "./Message";

const FIRST = 30;

/** The agents of a call in a few words, for its line. */
export function AgentWords({ agents }: { agents: AgentMark[] }) {
  const [first] = agents;
  if (!first) return null;
  if (agents.length > 1) return <span className="agent-words"> ◇ {plural(agents.length, "agent")}</span>;
  return (
    <span className="agent-words">
      {" ◇ "}
      <AgentFigures agent={first} />
    </span>
  );
}

export function AgentFigures({ agent }: { agent: AgentMark }) {
  return (
    <>
      {plural(agent.calls, "call")}
      {agent.errors > 0 && <span className="failed"> · {agent.errors} ✗</span>}
      {agent.figures.tokens > 0 && (
        <>
          {" · "}
          <Count value={agent.figures.tokens} unit="tokens" />
        </>
      )}
      {agent.figures.cost_usd !== null && (
        <>
          {" · "}
          <Cost figures={agent.figures} />
        </>
      )}
      {agent.seconds !== null && ` · ${duration(agent.seconds)}`}
      {agent.running && " · running"}
    </>
  );
}

/** The one agent of a call, whose line has already said what it is. */
export function AgentAlone({ agent }: { agent: AgentMark }) {
  return (
    <div className="agent">
      <OpenAlone agent={agent} />
      <div className="within">
        <AgentThread agent={agent} />
      </div>
    </div>
  );
}

/** One of several agents of a call. */
export function AgentInPlace({ agent }: { agent: AgentMark }) {
  return (
    <Fold
      name={`agent:${agent.id}`}
      className="agent"
      line={
        <span className="call-title">
          <span aria-hidden="true">◇ </span>
          <Plain text={[agent.type, agent.title].filter(Boolean).join(": ")} />
          <span className="agent-words">
            {" "}
            <AgentFigures agent={agent} />
          </span>
        </span>
      }
      aside={<OpenAlone agent={agent} />}
    >
      {() => <AgentThread agent={agent} />}
    </Fold>
  );
}

function OpenAlone({ agent }: { agent: AgentMark }) {
  const { thread } = useReading();
  return (
    <a className="quiet agent-alone" href={sessionHref({ session: thread.session, agent: agent.id })}>
      open alone
    </a>
  );
}

function AgentThread({ agent }: { agent: AgentMark }) {
  const { source, thread } = useReading();
  const inner = { session: thread.session, agent: agent.id };
  const asked = useAsked(agent.id, () => source.overview(inner));
  if (asked.state === "failed") return <p className="note error">{asked.error.message}</p>;
  if (asked.state === "waiting") return <p className="faint waiting">fetching…</p>;
  return <AgentPassages agent={agent} overview={asked.value} />;
}

function AgentPassages({ agent, overview }: { agent: AgentMark; overview: Overview }) {
  const outer = useReading();
  const reading = outer.agent(overview, agent.id);
  useVersion(reading);
  const [shown, setShown] = useState(FIRST);
  useEffect(() => reading.want(0, shown - 1));
  const count = Math.min(shown, reading.total);
  return (
    <ReadingContext value={reading}>
      {Array.from({ length: count }, (_, index) => {
        const passage = reading.passage(index);
        return passage && <Message key={index} passage={passage} />;
      })}
      {count < reading.total && (
        <button type="button" className="more" onClick={() => setShown(shown + FIRST * 2)}>
          {plural(reading.total - count, "more passage")}
        </button>
      )}
    </ReadingContext>
  );
}
