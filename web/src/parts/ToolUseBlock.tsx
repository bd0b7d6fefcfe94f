import { useEffect, useState } from "react";
import { useReading } from "../contexts";
import { stripped } from "../kit/ansi";
import { usePicked } from "../kit/store";
import { Plain } from "../kit/visible";
import { duration, exact } from "../kit/words";
import { toError, useAsked } from "../kit/useAsked";
import { CutsContext } from "../nodes/drawing";
import { NodeList } from "../nodes/NodeView";
import { sessionHref } from "../route";
import { Actions } from "../session/Actions";
import { AgentAlone, AgentInPlace, AgentWords } from "../session/AgentInPlace";
import type { CallBody, CallPart } from "../values";
import { Fold } from "./Fold";
import type { PartProps } from "./drawing";

const STATES: Record<string, [string, string]> = {
  running: ["◌", "running"],
  failed: ["✗", "failed"],
  denied: ["⊘", "denied"],
  interrupted: ["⊘", "interrupted"],
};

export const callKey = (part: CallPart): string => `call:${part.index}`;

/** Paths as one says them in the project. */
const inProject = (title: string, project: string): string =>
  project.length > 1 ? title.replaceAll(`${project.replace(/\/$/, "")}/`, "") : title;

export function ToolUseBlock({ part }: PartProps<CallPart>) {
  const reading = useReading();
  const current = usePicked(reading.position, ({ call }) => call === part.index);
  const state = STATES[part.state];
  return (
    <div className={`call ${part.state}${current ? " current" : ""}`} data-call={part.index}>
      <Fold
        name={callKey(part)}
        line={
          <>
            {part.label && <span className="tool">{part.label}</span>}
            <span className="call-title" title={part.title}>
              <bdi>
                <Plain text={inProject(stripped(part.title), reading.overview.project)} />
              </bdi>
              {part.note && (
                <span className="call-note">
                  {" → "}
                  <Plain text={stripped(part.note)} />
                </span>
              )}
              {part.agents.length > 0 && <AgentWords agents={part.agents} />}
            </span>
          </>
        }
        aside={
          <span className="call-end">
            {state && (
              <span className="state" role="img" aria-label={state[1]} title={state[1]}>
                {state[0]}
              </span>
            )}
            {part.seconds !== null && <span title={`${exact(part.seconds)} s`}>{duration(part.seconds)}</span>}
          </span>
        }
      >
        {() => (
          <>
            <CallView part={part} />
            <Actions href={sessionHref(reading.thread, { call: part.id })} target={{ call: part.id }} />
          </>
        )}
      </Fold>
    </div>
  );
}

function CallView({ part }: { part: CallPart }) {
  const bodyName = `${part.index}:${part.state}:${part.note}`;
  if (!part.agents.length) return <Body key={bodyName} part={part} name={bodyName} />;
  return (
    <>
      <Fold name={`body:${part.index}`} line={<span className="faint">asked and answered</span>}>
        {() => <Body key={bodyName} part={part} name={bodyName} />}
      </Fold>
      {part.agents.length === 1
        ? part.agents.map((agent) => <AgentAlone key={agent.id} agent={agent} />)
        : part.agents.map((agent) => <AgentInPlace key={agent.id} agent={agent} />)}
    </>
  );
}

function Body({ part, name }: { part: CallPart; name: string }) {
  const { bodies, source, thread } = useReading();
  const kept = bodies.get(name);
  const asked = useAsked(name, () => (kept ? Promise.resolve(kept) : source.call(thread, part.index)));
  const [whole, setWhole] = useState<CallBody | null>(null);
  const [failed, setFailed] = useState<Error | null>(null);
  const here = whole ?? kept ?? (asked.state === "here" ? asked.value : null);
  useEffect(() => {
    if (here) bodies.set(name, here);
  }, [here, bodies, name]);
  const error = failed ?? (asked.state === "failed" ? asked.error : null);
  if (error) return <p className="note error">{error.message}</p>;
  if (!here) return <p className="faint waiting">fetching…</p>;
  const askWhole = () => {
    source.call(thread, part.index, true).then(setWhole, (error: unknown) => setFailed(toError(error)));
  };
  return (
    <CutsContext value={{ cuts: here.cut, whole: askWhole }}>
      {here.nodes.length ? <NodeList nodes={here.nodes} place={callKey(part)} /> : <p className="faint">Nothing more.</p>}
    </CutsContext>
  );
}
