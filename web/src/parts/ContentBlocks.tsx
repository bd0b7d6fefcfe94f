/** The pieces of a passage, each drawn by the component for its part. */

import type { ComponentType } from "react";
import { Guard } from "../kit/Guard";
import type { NodesPart, Part, Passage } from "../values";
import { Asides } from "./Asides";
import { CompactionBlock } from "./CompactionBlock";
import type { PartProps } from "./drawing";
import { ForkBlock } from "./ForkBlock";
import { NodesBlock } from "./NodesBlock";
import { TextBlock } from "./TextBlock";
import { ThinkingBlock } from "./ThinkingBlock";
import { ToolUseBlock } from "./ToolUseBlock";

type Drawn = { [K in Part["part"]]: ComponentType<PartProps<Extract<Part, { part: K }>>> };

const DRAWN: Drawn = {
  call: ToolUseBlock,
  compaction: CompactionBlock,
  fork: ForkBlock,
  nodes: NodesBlock,
  text: TextBlock,
  thinking: ThinkingBlock,
};

interface Props {
  passage: Passage;
  parts?: Part[];
}

export function ContentBlocks({ passage, parts = passage.parts }: Props) {
  return rows(passage, parts).map((row) => {
    if (Array.isArray(row)) return <Asides key={row[0]?.at} passage={passage} asides={row} />;
    const { part, at } = row;
    const Drawing = DRAWN[part.part] as ComponentType<PartProps<Part>>;
    return (
      <Guard key={at} fallback={<p className="note error">This could not be drawn; raw shows it.</p>}>
        <Drawing part={part} passage={passage} at={at} />
      </Guard>
    );
  });
}

type Placed<P extends Part = Part> = { part: P; at: number };

const isAside = (placed: Placed): placed is Placed<NodesPart> => placed.part.part === "nodes" && !!placed.part.title;

/** The parts with their places, neighbouring asides together. */
function rows(passage: Passage, parts: Part[]): (Placed | Placed<NodesPart>[])[] {
  const found: (Placed | Placed<NodesPart>[])[] = [];
  for (const part of parts) {
    const placed = { part, at: passage.parts.indexOf(part) };
    const last = found.at(-1);
    if (!isAside(placed)) found.push(placed);
    else if (Array.isArray(last)) last.push(placed);
    else found.push([placed]);
  }
  return found;
}
