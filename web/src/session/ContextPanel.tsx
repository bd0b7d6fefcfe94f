/** What filled the context at the end of a turn, and what came and went since the request before. */

import { useThreadStore } from "../contexts";
import { exact, size, tokens } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import { useAsync, useLastReady } from "../kit/useAsync";
import type { Context, ContextPart } from "../data/values";
import { goToTurn } from "./navigation";

const LABELS: Record<string, string> = {
  system: "System prompt",
  tool: "Tool",
  mcp: "MCP server",
  skills: "Skills",
  memory: "Memory",
  reminder: "Reminder",
  hook: "Context of hooks",
  summary: "Summary",
  prompt: "Prompts",
  command: "Commands",
  answer: "Answers",
  thinking: "Thinking",
  call: "Calls",
  result: "Results",
  picture: "Pictures",
  structure: "JSON around it",
  unrecorded: "Not in the transcript",
};

interface Props {
  turn: number;
  turns: number;
  onTurn(turn: number | null): void;
}

export function ContextPanel({ turn, turns, onTurn }: Props) {
  const store = useThreadStore();
  const { source, thread } = store;
  const load = () => source.context?.(thread, turn) ?? Promise.reject(new Error("Not known here."));
  const loaded = useLastReady(useAsync(`context ${turn}`, load));
  return (
    <section className="about context-panel" aria-label={`Context of turn ${turn}`} aria-busy={loaded.state === "loading"}>
      <p className="context-turn">
        <strong>Context of turn {turn}</strong>
        <button type="button" className="link-button" disabled={turn <= 1} onClick={() => onTurn(turn - 1)}>
          Turn before
        </button>
        <button type="button" className="link-button" disabled={turn >= turns} onClick={() => onTurn(turn + 1)}>
          Next turn
        </button>
        <button type="button" className="link-button" onClick={() => void goToTurn(store, turn)}>
          Go there
        </button>
        <button type="button" className="link-button" onClick={() => onTurn(null)}>
          Close
        </button>
      </p>
      {loaded.state === "failed" && <p className="note error">{loaded.error.message}</p>}
      {loaded.state === "ready" && <Parts context={loaded.value} />}
    </section>
  );
}

function Parts({ context }: { context: Context }) {
  const weight = (part: ContextPart): number => (context.scaled ? (part.tokens ?? 0) : part.bytes);
  const largest = Math.max(1, ...context.parts.map(weight));
  return (
    <>
      <p className="muted">{facts(context)}</p>
      <table>
        <tbody>
          {context.parts.map((part) => (
            <Row key={keyOf(part)} part={part} share={weight(part) / largest} />
          ))}
        </tbody>
      </table>
      <Changes title="Came in since the request before" sign="+" parts={context.came} />
      <Changes title="Went out since the request before" sign="−" parts={context.went} />
    </>
  );
}

function facts({ tokens: count, bytes, estimate, verified, missing, request }: Context): string {
  const sum = `${count === null ? "Tokens not reported" : `${exact(count)} tokens`}, ${size(bytes)}`;
  if (estimate) return `${sum}. An estimate: the client noted no request, so these are the messages of the transcript.`;
  const proof = verified ? "proven by the client's digest" : "not proven by the client's digest";
  const gaps = missing.length ? `; missing: ${missing.join(", ")}` : "";
  return `${sum}. Request ${request}, ${proof}${gaps}. Bytes are exact; tokens are scaled to the sum that the API reported.`;
}

const keyOf = ({ kind, name, file }: ContextPart): string => [kind, name, file].join("\n");

function Row({ part, share, sign = "" }: { part: ContextPart; share?: number; sign?: string }) {
  return (
    <tr>
      <td>
        {sign} {LABELS[part.kind] ?? part.kind} <PlainText text={[part.name, part.file].filter(Boolean).join(" ")} />
      </td>
      <td className="num">{part.tokens === null ? "–" : tokens(part.tokens)}</td>
      <td className="num muted">{part.bytes ? size(part.bytes) : "–"}</td>
      {share !== undefined && (
        <td className="context-share" aria-hidden="true">
          <span style={{ width: `${share * 100}%` }} />
        </td>
      )}
    </tr>
  );
}

function Changes({ title, sign, parts }: { title: string; sign: string; parts: ContextPart[] }) {
  if (!parts.length) return null;
  return (
    <table aria-label={title}>
      <caption className="muted">{title}</caption>
      <tbody>
        {parts.map((part) => (
          <Row key={keyOf(part)} part={part} sign={sign} />
        ))}
      </tbody>
    </table>
  );
}
