/** One message: a prompt, a response, a run of calls, or something that Claude Code said. */

import type { ReactNode } from "react";
import type { Filter } from "../data/source";
import type { TimelineItem } from "../data/values";
import { capitalized, duration } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import { matchingParts } from "../search/filter";
import { Collapsible } from "./Collapsible";
import { ContentBlocks } from "./ContentBlocks";
import { runKey } from "./keys";
import { KIND_NAMES } from "./kinds";

/** Kinds that need no label on the screen. */
const UNLABELLED = new Set(["prompt", "command", "response", "run", "compaction"]);

const FLAGS: Record<string, string> = {
  error: "Failed",
  deleted: "Deleted",
  superseded: "Replaced later",
  aborted: "Aborted",
  dropped: "Dropped from the file",
  queued: "Queued",
};

interface Props {
  item: TimelineItem;
  filter?: Filter | null;
  selected?: boolean;
  /** Shown above the parts; it says of which kind the message is. */
  header?: ReactNode;
  below?: ReactNode;
  beside?: ReactNode;
  /** Shown instead of the parts. */
  children?: ReactNode;
}

export function Message({ item, filter = null, selected = false, header, below, beside, children }: Props) {
  const classes = ["message", item.kind, ...item.flags, selected ? "selected" : ""].join(" ");
  return (
    <article className={classes} data-key={item.key} aria-label={visible(KIND_NAMES[item.kind] ?? item.kind)}>
      <div className="message-body">
        {header}
        <Labels item={item} kind={header === undefined && !UNLABELLED.has(item.kind)} />
        {children ?? <Parts item={item} filter={filter} />}
        {below}
      </div>
      {beside}
    </article>
  );
}

function Parts({ item, filter }: { item: TimelineItem; filter: Filter | null }) {
  const parts = <ContentBlocks item={item} parts={matchingParts(item, filter)} />;
  if (item.kind !== "run" || filter) return parts;
  const title = (
    <PlainText className="call-title" text={item.title} />
  );
  return (
    <Collapsible name={runKey(item)} className="run-calls" header={title} trailing={<RunTime item={item} />}>
      {() => parts}
    </Collapsible>
  );
}

/** How long the calls of a run took together. */
function RunTime({ item }: { item: TimelineItem }) {
  const known = item.parts.flatMap((part) => (part.part === "call" && part.seconds !== null ? [part.seconds] : []));
  const seconds = known.reduce((sum, one) => sum + one, 0);
  return known.length > 0 && <span className="call-status">{duration(seconds)}</span>;
}

function Labels({ item, kind }: { item: TimelineItem; kind: boolean }) {
  const flags = item.flags.map((flag) => FLAGS[flag] ?? flag);
  const labels = kind ? [capitalized(item.label) || (KIND_NAMES[item.kind] ?? item.kind), ...flags] : flags;
  if (!labels.length) return null;
  return (
    <p className="labels">
      {labels.map((label) => (
        <span className="label" key={label}>
          {label}
        </span>
      ))}
    </p>
  );
}
