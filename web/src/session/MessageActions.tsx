/** The time of an item, and its actions. */

import { fullTime, timeOfDay } from "../kit/format";
import type { TimelineItem } from "../data/values";
import { CopyButton, LinkButton, RawButton } from "./Actions";
import { hasFields } from "./RecordFields";

/** Kinds whose time is always shown; the others have durations of calls in that place. */
const TIMED = new Set(["prompt", "command", "notification", "interrupt"]);

interface Props {
  item: TimelineItem;
  raw: boolean;
  onRaw(): void;
  fields: boolean;
  onFields(): void;
}

export function MessageActions({ item, raw, onRaw, fields, onFields }: Props) {
  const target = { message: item.key };
  const time = item.time && (
    <time dateTime={item.time} title={fullTime(item.time)}>
      {timeOfDay(item.time)}
    </time>
  );
  return (
    <div className="message-header">
      {TIMED.has(item.kind) && time}
      <span className="actions">
        {!TIMED.has(item.kind) && time}
        <LinkButton target={target} title="Copy the address of this message" />
        <CopyButton target={target} />
        {hasFields(item) && (
          <button
            type="button"
            className="link-button"
            aria-expanded={fields}
            title="Show the model, the tokens and all other recorded fields"
            onClick={onFields}
          >
            Fields
          </button>
        )}
        <RawButton open={raw} onToggle={onRaw} />
      </span>
    </div>
  );
}
