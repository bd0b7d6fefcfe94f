/** When something was said, and what can be done with it. */

import { clock, fullTime } from "../kit/words";
import { useReading } from "../contexts";
import { sessionHref } from "../route";
import type { Passage } from "../values";
import { CopyButton } from "./Actions";

/** Kinds whose time always shows: the calls of the others have durations there. */
const TIMED = new Set(["prompt", "command", "notification", "interrupt"]);

interface Props {
  passage: Passage;
  raw: boolean;
  onRaw(): void;
}

export function MessageHeader({ passage, raw, onRaw }: Props) {
  const { thread, source } = useReading();
  const target = { message: passage.key };
  const time = passage.time && (
    <time dateTime={passage.time} title={fullTime(passage.time)}>
      {clock(passage.time)}
    </time>
  );
  return (
    <div className="message-header">
      {TIMED.has(passage.kind) && time}
      <span className="actions">
        {!TIMED.has(passage.kind) && time}
        <a className="quiet" href={sessionHref(thread, target)} title="a link to this">
          link
        </a>
        <CopyButton target={target} />
        {source.can.raw && (
          <button type="button" className="quiet" aria-expanded={raw} onClick={onRaw}>
            raw
          </button>
        )}
      </span>
    </div>
  );
}
