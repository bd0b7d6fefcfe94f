/** One timeline item: a prompt, a response, a run of calls, or a message from Claude Code. */

import { memo, useState } from "react";
import { useThreadStore } from "../contexts";
import { matchingParts } from "../filter";
import { capitalized } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import { KIND_NAMES } from "../kinds";
import { useSelector } from "../kit/store";
import { Collapsible } from "../parts/Collapsible";
import { ContentBlocks } from "../parts/ContentBlocks";
import { runKey } from "../parts/keys";
import type { Filter } from "../source";
import type { TimelineItem } from "../values";
import { MessageHeader } from "./MessageHeader";
import { RawView } from "./RawView";
import { RecordFields } from "./RecordFields";
import { ResponseFigures } from "./ResponseFigures";
import { TurnEnd } from "./TurnEnd";

/** Kinds that need no label on the screen. */
const UNLABELLED = new Set(["prompt", "command", "response", "run", "compaction"]);

const FLAGS: Record<string, string> = {
  error: "Failed",
  deleted: "Deleted",
  superseded: "Replaced later",
  aborted: "Aborted",
  queued: "Queued",
};

interface Props {
  item: TimelineItem;
  filter?: Filter | null;
}

export const Message = memo(function Message({ item, filter = null }: Props) {
  const { position } = useThreadStore();
  const [raw, setRaw] = useState(false);
  const [fields, setFields] = useState(false);
  const selected = useSelector(position, ({ selected }) => selected === item.key);
  const classes = ["message", item.kind, ...item.flags, selected ? "selected" : ""].join(" ");
  const parts = matchingParts(item, filter);
  return (
    <article className={classes} data-key={item.key} aria-label={visible(KIND_NAMES[item.kind] ?? item.kind)}>
      <div className="message-body">
        <Labels item={item} />
        {item.kind === "run" && !filter ? (
          <Collapsible
            name={runKey(item)}
            className="run-calls"
            header={
              <span className="call-title">
                <PlainText text={item.title} />
              </span>
            }
          >
            {() => <ContentBlocks item={item} parts={parts} />}
          </Collapsible>
        ) : (
          <ContentBlocks item={item} parts={parts} />
        )}
        {fields && <RecordFields item={item} />}
        {raw && <RawView target={{ message: item.key }} />}
        <TurnEnd item={item} />
      </div>
      <ResponseFigures item={item} />
      <MessageHeader
        item={item}
        raw={raw}
        onRaw={() => setRaw(!raw)}
        fields={fields}
        onFields={() => setFields(!fields)}
      />
    </article>
  );
});

function Labels({ item }: { item: TimelineItem }) {
  const kind = UNLABELLED.has(item.kind) ? null : capitalized(item.label) || (KIND_NAMES[item.kind] ?? item.kind);
  const flags = item.flags.map((flag) => FLAGS[flag] ?? flag);
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
