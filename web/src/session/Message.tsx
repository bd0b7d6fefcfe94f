/** One passage of the document: a prompt, an answer, a run of calls, or what the client said. */

import { memo, useState } from "react";
import { useReading } from "../contexts";
import { keptParts } from "../filter";
import { Cost, Count, caveats } from "../kit/Figure";
import { usePicked } from "../kit/store";
import { Plain } from "../kit/visible";
import { duration, model } from "../kit/words";
import { ContentBlocks } from "../parts/ContentBlocks";
import { Fold } from "../parts/Fold";
import type { Filter } from "../source";
import type { Passage } from "../values";
import { MessageHeader } from "./MessageHeader";
import { RawView } from "./RawView";

/** Kinds that speak for themselves; the others carry their name. */
const UNNAMED = new Set(["prompt", "command", "response", "run", "compaction"]);

const NAMES: Record<string, string> = { interrupt: "interrupted", output: "command output", meta: "client" };

const FLAGS: Record<string, string> = {
  error: "failed",
  deleted: "deleted",
  superseded: "replaced later",
  aborted: "cut off",
  queued: "queued",
};

interface Props {
  passage: Passage;
  filter?: Filter | null;
}

export const Message = memo(function Message({ passage, filter = null }: Props) {
  const { position } = useReading();
  const [raw, setRaw] = useState(false);
  const marked = usePicked(position, ({ marked }) => marked === passage.key);
  const names = ["message", passage.kind, ...passage.flags, marked ? "marked" : ""].join(" ");
  const parts = keptParts(passage, filter);
  return (
    <article className={names} data-key={passage.key} aria-label={NAMES[passage.kind] ?? passage.kind}>
      <div className="message-body">
        <Labels passage={passage} />
        {passage.kind === "run" && !filter ? (
          <Fold
            name={`run:${passage.key}`}
            className="run-fold"
            line={
              <span className="call-title">
                <Plain text={passage.title} />
              </span>
            }
          >
            {() => <ContentBlocks passage={passage} parts={parts} />}
          </Fold>
        ) : (
          <ContentBlocks passage={passage} parts={parts} />
        )}
        {raw && <RawView target={{ message: passage.key }} />}
        <TurnEnd passage={passage} />
      </div>
      <MessageHeader passage={passage} raw={raw} onRaw={() => setRaw(!raw)} />
    </article>
  );
});

function Labels({ passage }: { passage: Passage }) {
  const kind = UNNAMED.has(passage.kind) ? null : (NAMES[passage.kind] ?? passage.kind);
  const flags = passage.flags.map((flag) => FLAGS[flag] ?? flag);
  if (!kind && !flags.length) return null;
  return (
    <p className="labels">
      {[kind, ...flags].filter(Boolean).map((label) => (
        <span className="label" key={label}>
          {label}
        </span>
      ))}
    </p>
  );
}

/** At the end of a turn: who answered, how long it took and what it cost. */
function TurnEnd({ passage }: { passage: Passage }) {
  const { figures, seconds } = passage;
  if (!figures?.tokens) return null;
  return (
    <p className="turn-end">
      {passage.model && <span title={passage.model}>{model(passage.model)}</span>}
      {seconds !== null && <span>{duration(seconds)}</span>}
      <span>
        <Count value={figures.tokens} unit="tokens" /> tok
      </span>
      {figures.cost_usd !== null && <Cost figures={figures} />}
      {caveats(figures).map((said) => (
        <span key={said} className="odd-figure">
          {said}
        </span>
      ))}
    </p>
  );
}
