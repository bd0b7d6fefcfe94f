/** The parts of an item, each drawn by its component. */

import type { ComponentType } from "react";
import { ErrorBoundary } from "../kit/ErrorBoundary";
import type { NodesPart, Part, TimelineItem } from "../data/values";
import { CollapsedParts } from "./CollapsedParts";
import { CompactionBlock } from "./CompactionBlock";
import { ForkBlock } from "./ForkBlock";
import { withoutJoined } from "./joinedThinking";
import { NodesBlock } from "./NodesBlock";
import type { PartProps } from "./partProps";
import { TextBlock } from "./TextBlock";
import { ThinkingBlock } from "./ThinkingBlock";
import { ToolUseBlock } from "./ToolUseBlock";

type Components = { [K in Part["part"]]: ComponentType<PartProps<Extract<Part, { part: K }>>> };

const COMPONENTS: Components = {
  call: ToolUseBlock,
  compaction: CompactionBlock,
  fork: ForkBlock,
  nodes: NodesBlock,
  text: TextBlock,
  thinking: ThinkingBlock,
};

interface Props {
  item: TimelineItem;
  parts?: Part[];
}

export function ContentBlocks({ item, parts = item.parts }: Props) {
  return groupCollapsed(item, withoutJoined(item, parts)).map((group) => {
    if (Array.isArray(group)) return <CollapsedParts key={group[0]?.at} item={item} parts={group} />;
    const { part, at } = group;
    const Component = COMPONENTS[part.part] as ComponentType<PartProps<Part>>;
    return (
      <ErrorBoundary
        key={at}
        fallback={<p className="note error">Could not display this. Use “Raw” to see the recorded lines.</p>}
      >
        <Component part={part} item={item} at={at} />
      </ErrorBoundary>
    );
  });
}

type Indexed<P extends Part = Part> = { part: P; at: number };

const isCollapsed = (indexed: Indexed): indexed is Indexed<NodesPart> =>
  indexed.part.part === "nodes" && indexed.part.title !== "";

/** The parts with their indices; neighbouring collapsed parts are grouped. */
function groupCollapsed(item: TimelineItem, parts: Part[]): (Indexed | Indexed<NodesPart>[])[] {
  const groups: (Indexed | Indexed<NodesPart>[])[] = [];
  for (const part of parts) {
    const indexed = { part, at: item.parts.indexOf(part) };
    const last = groups.at(-1);
    if (!isCollapsed(indexed)) groups.push(indexed);
    else if (Array.isArray(last)) last.push(indexed);
    else groups.push([indexed]);
  }
  return groups;
}
