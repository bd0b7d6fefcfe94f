/** When something was said, and what can be done with it. */

import { clock, fullTime } from "../kit/words";
import { useReading } from "../contexts";
import { sessionHref } from "../route";
import type { Passage } from "../values";
import { CopyButton } from "./Actions";

interface Props {
  passage: Passage;
  raw: boolean;
  onRaw(): void;
}

export function MessageHeader({ passage, raw, onRaw }: Props) {
  const { thread, source } = useReading();
  const target = { message: passage.key };
  return (
    <div className="message-header">
      {passage.time && (
        <time dateTime={passage.time} title={fullTime(passage.time)}>
          {clock(passage.time)}
        </time>
      )}
      <span className="actions">
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
