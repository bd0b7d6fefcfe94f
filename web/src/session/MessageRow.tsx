/** A message of the reader: the message with its actions, its recorded fields and lines, and the figures of its turn. */

import { memo } from "react";
import { useThreadStore } from "../contexts";
import type { Filter } from "../data/source";
import type { TimelineItem } from "../data/values";
import { useKept } from "../kit/kept";
import { useSelector } from "../kit/store";
import { Message } from "../parts/Message";
import { MessageActions } from "./MessageActions";
import { RawView } from "./RawView";
import { RecordFields } from "./RecordFields";
import { ResponseFigures } from "./ResponseFigures";
import { TurnEnd } from "./TurnEnd";

interface Props {
  item: TimelineItem;
  filter?: Filter | null;
}

export const MessageRow = memo(function MessageRow({ item, filter = null }: Props) {
  const { position } = useThreadStore();
  const [raw, setRaw] = useKept(`raw ${item.key}`, false);
  const [fields, setFields] = useKept(`fields ${item.key}`, false);
  const selected = useSelector(position, ({ selected }) => selected === item.key);
  return (
    <Message
      item={item}
      filter={filter}
      selected={selected}
      below={
        <>
          {fields && <RecordFields item={item} />}
          {raw && <RawView target={{ message: item.key }} />}
          <TurnEnd item={item} />
        </>
      }
      beside={
        <>
          <ResponseFigures item={item} />
          <MessageActions item={item} raw={raw} onRaw={() => setRaw(!raw)} fields={fields} onFields={() => setFields(!fields)} />
        </>
      }
    />
  );
});
