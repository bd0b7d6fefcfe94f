/** The time of an item, and its actions. */

import { useThreadStore } from "../contexts";
import { fullTime, timeOfDay } from "../kit/format";
import { sessionHref } from "../route";
import type { TimelineItem } from "../values";
import { CopyButton, RawButton } from "./Actions";

/** Kinds whose time is always shown; the others have durations of calls in that place. */
const TIMED = new Set(["prompt", "command", "notification", "interrupt"]);

interface Props {
  item: TimelineItem;
  raw: boolean;
  onRaw(): void;
}

export function MessageHeader({ item, raw, onRaw }: Props) {
  const { thread } = useThreadStore();
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
        <a className="link-button" href={sessionHref(thread, target)} title="Link to this message">
          Link
        </a>
        <CopyButton target={target} />
        <RawButton open={raw} onToggle={onRaw} />
      </span>
    </div>
  );
}
