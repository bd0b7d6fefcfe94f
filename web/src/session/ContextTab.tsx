/** A request: what filled its context, what came and went since the one before it, what it sent, and the list of all. */

import { useState, type ReactNode } from "react";
import { useThreadStore } from "../contexts";
import { DisclosureButton } from "../kit/DisclosureButton";
import { capitalized, exact, plural, size, tokens } from "../kit/format";
import { useKept } from "../kit/kept";
import { PlainText } from "../kit/PlainText";
import { useAsync, useLastReady } from "../kit/useAsync";
import type { Context, ContextFill, ContextPart, RequestContext } from "../data/values";
import { PlaceLink, usePanel } from "./PanelLink";
import { AllRequests, OneRequest } from "./Requests";
import { Steps } from "./Steps";

const LABELS: Record<string, string> = {
  system: "System prompt",
  tool: "Tools",
  mcp: "MCP servers",
  skills: "Skills",
  memory: "Memory",
  reminder: "Reminders",
  hook: "Hooks",
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
/** How many parts that came or went are listed at first. */
const FEW = 8;
const TURN = "turn";

/** What is chosen in the tab: a turn or a request; nothing is the turn on the screen. */
export const chosenTurn = (turn: number): string => `${TURN}${turn}`;

function placeOf(chosen: string): { turn?: number; request?: number } {
  const [, kind, digits = ""] = /^(turn)?(\d{1,9})$/.exec(chosen) ?? [];
  if (!digits) return {};
  return kind ? { turn: Number(digits) } : { request: Number(digits) };
}

interface Props {
  chosen: string;
  /** How full the context was at the end of the turns. */
  fills: ContextFill[];
}

export function ContextTab({ chosen, fills }: Props) {
  const { source, thread, total, turns, position } = useThreadStore();
  const [opened] = useState(() => (position.turn < turns ? chosenTurn(position.turn) : "")); // the last turn goes on
  const at = chosen || opened;
  const load = () => source.context?.(thread, placeOf(at)) ?? Promise.reject(new Error("Not known here."));
  const loaded = useLastReady(useAsync(`context ${at}`, load, at ? 0 : total));
  return (
    <section className="context-tab" aria-label="Context" aria-busy={loaded.state === "loading" || !loaded.isCurrent}>
      {loaded.state === "failed" && <p className="note error">{loaded.error.message}</p>}
      {loaded.state === "ready" && <ContextView found={loaded.value} fills={fills} />}
    </section>
  );
}

function ContextView({ found, fills }: { found: RequestContext; fills: ContextFill[] }) {
  const { context, cache_breaks: breaks, requests } = found;
  const { source } = useThreadStore();
  const fill = fills.findLast(({ turn }) => turn <= (context.turn ?? 0)) ?? fills[0];
  return (
    <>
      <Place found={found} />
      <Size context={context} window={fill?.window ?? null} />
      <Parts context={context} />
      {breaks.map((text) => (
        <p key={text} className="cache-break">
          <PlainText text={capitalized(text)} />
        </p>
      ))}
      <Changes title="Since the request before" sign="+" parts={context.came} />
      <Changes title="Gone since the request before" sign="−" parts={context.went} />
      <p className="note">
        {context.estimate
          ? "An estimate from the messages of the transcript: no request is recorded here, so the system prompt and the tools are not in it. Claude Code records them since version 2.1.325."
          : `${context.missing.length ? "Bytes are those of what the transcript has" : "Bytes are exact"}. The API reports tokens only as a sum, which is shared out by bytes.`}
      </p>
      {source.requests && context.request !== null && (
        <Folded title={`What request ${context.request} sent`}>
          <OneRequest number={context.request} />
        </Folded>
      )}
      {source.requests && requests > 0 && (
        <Folded title={`All ${plural(requests, "request")}`}>
          <AllRequests current={context.request} />
        </Folded>
      )}
    </>
  );
}

/** What is loaded when it is opened. */
function Folded({ title, children }: { title: string; children: ReactNode }) {
  const [open, setOpen] = useKept(title.replace(/\d+ /, ""), false);
  return (
    <div className="context-folded">
      <DisclosureButton open={open} onToggle={() => setOpen(!open)}>
        {title}
      </DisclosureButton>
      {open && children}
    </div>
  );
}

/** Which request it is, with steps to its neighbours. */
function Place({ found: { context, requests } }: { found: RequestContext }) {
  const { overview, source, thread } = useThreadStore();
  const show = usePanel();
  const { turn } = context;
  // An exported page has one context of each turn.
  const request = source.requests ? context.request : null;
  const go = (chosen: string) => show({ tab: "context", chosen }, { inPlace: true });
  const step = (by: number) => go(request === null ? chosenTurn((turn ?? 1) + by) : String(request + by));
  const [at, last] = request === null ? [turn ?? 1, overview.turns] : [request, requests];
  return (
    <p className="panel-place">
      <span>
        {turn !== null && (
          <PlaceLink thread={thread} target={{ turn }} title="Go to this turn">
            Turn {turn}
          </PlaceLink>
        )}
        {context.request !== null && (
          <strong>
            {turn !== null && " · "}request {context.request} of {requests}
          </strong>
        )}
      </span>
      <Proof context={context} />
      <Steps what={request === null ? "turn" : "request"} at={at} last={last} onStep={step} />
    </p>
  );
}

function Proof({ context }: { context: Context }) {
  if (context.proof === null) return <span className="muted">estimate</span>;
  if (context.proof === "verified")
    return (
      <span className="verified" title="The digest that Claude Code wrote proves this request">
        ✓ verified
      </span>
    );
  const missing = context.missing.length ? `missing: ${context.missing.join(", ")}` : "";
  const reason = context.proof === "no_digest" ? "Claude Code wrote no digest" : "The digest that Claude Code wrote is another one";
  return (
    <span className="muted" title={missing || reason}>
      {missing ? `${context.missing.length} missing` : "not verified"}
    </span>
  );
}

function Size({ context, window }: { context: Context; window: number | null }) {
  const { tokens: count, bytes } = context;
  return (
    <>
      <p className="context-size">
        <strong className="num">{count === null ? size(bytes) : `${exact(count)} tokens`}</strong>
        {count !== null && window !== null && (
          <span className="muted">
            {" of "}
            {tokens(window)} ({Math.round((count / window) * 100)} %)
          </span>
        )}
        <span className="muted"> · {count === null ? "tokens not reported" : size(bytes)}</span>
      </p>
      {count !== null && (
        <div className="context-gauge" aria-hidden="true">
          <span style={{ width: `${window === null ? 0 : Math.min(100, (count / window) * 100)}%` }} />
        </div>
      )}
    </>
  );
}

function Parts({ context }: { context: Context }) {
  const weight = (part: ContextPart): number => (context.scaled ? (part.tokens ?? 0) : part.bytes);
  const kinds = new Map<string, ContextPart[]>();
  for (const part of context.parts) kinds.set(part.kind, [...(kinds.get(part.kind) ?? []), part]);
  const sums = [...kinds].map(([kind, parts]) => ({ kind, parts, weight: parts.reduce((sum, part) => sum + weight(part), 0) }));
  const largest = Math.max(1, ...sums.map(({ weight }) => weight));
  return (
    <table className="context-parts" aria-label="Parts of the context">
      {sums.map(({ kind, parts, weight: sum }) => (
        <Kind key={kind} kind={kind} parts={parts} share={sum / largest} shareOf={(part) => weight(part) / largest} />
      ))}
    </table>
  );
}

interface KindProps {
  kind: string;
  parts: ContextPart[];
  share: number;
  shareOf(part: ContextPart): number;
}

/** A kind of part with the sum of its parts, which are listed on request if they have names. */
function Kind({ kind, parts, share, shareOf }: KindProps) {
  const [open, setOpen] = useKept(`parts of ${kind}`, false);
  const label = LABELS[kind] ?? kind;
  const named = parts.some((part) => nameOf(part));
  const all: ContextPart = {
    ...parts[0]!,
    bytes: parts.reduce((sum, part) => sum + part.bytes, 0),
    tokens: parts.some((part) => part.tokens !== null) ? parts.reduce((sum, part) => sum + (part.tokens ?? 0), 0) : null,
  };
  return (
    <tbody>
      <Row part={all} share={share}>
        {named ? (
          <DisclosureButton small open={open} onToggle={() => setOpen(!open)}>
            <span>
              {label} <span className="muted">{parts.length}</span>
            </span>
          </DisclosureButton>
        ) : (
          <span className="context-kind">{label}</span>
        )}
      </Row>
      {open &&
        parts
          .toSorted((a, b) => shareOf(b) - shareOf(a))
          .map((part) => (
            <Row key={`${part.name}\n${part.file}`} part={part} share={shareOf(part)}>
              <PlainText className="context-name" text={nameOf(part) || label} title={nameOf(part)} />
            </Row>
          ))}
    </tbody>
  );
}

const nameOf = ({ name, file }: ContextPart): string => [name, file].filter(Boolean).join(" ");

function Row({ part, share, children }: { part: ContextPart; share: number; children: ReactNode }) {
  return (
    <tr>
      <th scope="row">{children}</th>
      <td className="context-share" aria-hidden="true">
        <span style={{ width: `${share * 100}%` }} />
      </td>
      <td className="num">{part.tokens === null ? "–" : tokens(part.tokens)}</td>
      <td className="num muted">{part.bytes ? size(part.bytes) : "–"}</td>
    </tr>
  );
}

function Changes({ title, sign, parts }: { title: string; sign: string; parts: ContextPart[] }) {
  const [all, setAll] = useKept(`all ${title}`, false);
  if (!parts.length) return null;
  const sorted = parts.toSorted((a, b) => b.bytes - a.bytes);
  return (
    <div className="context-changes">
      <h2 className="label">{title}</h2>
      <ul aria-label={title}>
        {(all ? sorted : sorted.slice(0, FEW)).map((part) => (
          <li key={`${part.kind}\n${part.name}\n${part.file}`}>
            <span className={sign === "+" ? "added-lines" : "removed-lines"}>{sign}</span>
            <span className="context-change">
              {LABELS[part.kind] ?? part.kind} <PlainText className="muted" text={nameOf(part)} />
            </span>
            <span className="num">{part.tokens === null ? "–" : tokens(part.tokens)}</span>
            <span className="num muted">{part.bytes ? size(part.bytes) : "–"}</span>
          </li>
        ))}
      </ul>
      {!all && parts.length > FEW && (
        <button type="button" className="show-more" onClick={() => setAll(true)}>
          Show all {exact(parts.length)}
        </button>
      )}
    </div>
  );
}
