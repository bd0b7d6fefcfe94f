import { useEffect, useState } from "react";
import { useExpanded, useThreadStore } from "../contexts";
import { inProject } from "../kit/format";
import { useSelector } from "../kit/store";
import { toError } from "../kit/toError";
import { useAsync } from "../kit/useAsync";
import { NodeList } from "../nodes/NodeList";
import { CutsContext } from "../nodes/nodeProps";
import { CallActions } from "../session/Actions";
import { AgentSummary, CollapsibleAgent, SingleAgent } from "../session/InlineAgent";
import type { CallBody, CallPart } from "../data/values";
import { CallRow } from "./CallRow";
import { Collapsible } from "./Collapsible";
import { joinedThinking, thinkingText } from "./joinedThinking";
import { bodyKey, callKey, thinkingKey } from "./keys";
import type { PartProps } from "./partProps";
import { ThinkingText } from "./ThinkingBlock";

export function ToolUseBlock({ part, item, at }: PartProps<CallPart>) {
  const store = useThreadStore();
  const expanded = useExpanded();
  const thinking = joinedThinking(item, at);
  const key = thinkingKey(item, at - 1);
  const shown = useSelector(expanded, () => expanded.has(key, expanded.thinking));
  const quiet = [thinking && !thinking.text ? thinkingText(thinking) : "", part.quiet].filter(Boolean);
  const current = useSelector(store.position, ({ call }) => call === part.index);
  return (
    <div className={`call ${part.state}${current ? " current" : ""}`} data-call={part.index}>
      <CallRow
        name={callKey(part)}
        label={part.label}
        title={inProject(part.title, store.overview.project)}
        detail={inProject(part.detail.replace(`cd ${store.overview.project} && `, ""), store.overview.project)}
        counted={part.category === "edit"}
        tooltip={[part.title, part.detail].filter(Boolean).join("\n")}
        note={part.note}
        state={part.state}
        seconds={(part.agents.length === 1 && part.agents[0]?.seconds) || part.seconds}
        summary={
          <>
            <AgentSummary agents={part.agents} />
            {quiet.length > 0 && <span className="call-quiet"> + {quiet.join(", ")}</span>}
          </>
        }
        aside={
          thinking?.text && (
            <button type="button" className="link-button joined" aria-expanded={shown} onClick={() => expanded.toggle(key)}>
              + {thinkingText(thinking)}
            </button>
          )
        }
        below={
          thinking?.text &&
          shown && (
            <div className="thinking">
              <div className="indented">
                <ThinkingText part={thinking} item={item} />
              </div>
            </div>
          )
        }
      >
        {() => (
          <>
            <CallContent part={part} />
            <CallActions target={{ call: part.id }} />
          </>
        )}
      </CallRow>
    </div>
  );
}

function CallContent({ part }: { part: CallPart }) {
  const name = `${part.index}:${part.state}:${part.note}`;
  if (!part.agents.length) return <Body key={name} part={part} name={name} />;
  return (
    <>
      <Collapsible name={bodyKey(part)} header={<span className="muted">Prompt and result</span>}>
        {() => <Body key={name} part={part} name={name} />}
      </Collapsible>
      {part.agents.length === 1
        ? part.agents.map((agent) => <SingleAgent key={agent.id} agent={agent} />)
        : part.agents.map((agent) => <CollapsibleAgent key={agent.id} agent={agent} />)}
    </>
  );
}

function Body({ part, name }: { part: CallPart; name: string }) {
  const { bodies, source, thread } = useThreadStore();
  const cached = bodies.get(name);
  const loaded = useAsync(name, () => (cached ? Promise.resolve(cached) : source.call(thread, part.index)));
  const [whole, setWhole] = useState<CallBody | null>(null);
  const [failed, setFailed] = useState<Error | null>(null);
  const body = whole ?? cached ?? (loaded.state === "ready" ? loaded.value : null);
  useEffect(() => {
    if (body) bodies.set(name, body);
  }, [body, bodies, name]);
  const error = failed ?? (loaded.state === "failed" ? loaded.error : null);
  if (error) return <p className="note error">{error.message}</p>;
  if (!body) return <p className="muted loading">Loading…</p>;
  const loadWhole = () => {
    source.call(thread, part.index, true).then(setWhole, (error: unknown) => setFailed(toError(error)));
  };
  return (
    <CutsContext value={{ cuts: body.cut, loadWhole }}>
      {body.nodes.length ? <NodeList nodes={body.nodes} place={callKey(part)} /> : <p className="muted">No details recorded.</p>}
    </CutsContext>
  );
}
