/** Parts that are collapsed at first, such as attached files and system reminders: their titles in one row. */

import { useExpanded } from "../contexts";
import { DisclosureButton } from "../kit/DisclosureButton";
import { PlainText } from "../kit/PlainText";
import { useVersion } from "../kit/store";
import type { NodesPart, TimelineItem } from "../data/values";
import { detailsKey } from "./keys";
import { NodesBlock } from "./NodesBlock";

interface Props {
  item: TimelineItem;
  parts: { part: NodesPart; at: number }[];
}

export function CollapsedParts({ item, parts }: Props) {
  const expanded = useExpanded();
  useVersion(expanded);
  return (
    <div className="collapsed-parts">
      <p className="collapsed-titles">
        {parts.map(({ part, at }) => {
          const key = detailsKey(item, at);
          return (
            <DisclosureButton key={at} small open={expanded.has(key)} onToggle={() => expanded.toggle(key)}>
              <PlainText className="muted" text={part.title} />
            </DisclosureButton>
          );
        })}
      </p>
      {parts.map(
        ({ part, at }) =>
          expanded.has(detailsKey(item, at)) && (
            <div className="indented" key={at}>
              <NodesBlock part={part} item={item} at={at} />
            </div>
          ),
      )}
    </div>
  );
}
