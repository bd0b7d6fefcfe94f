/** The pieces of a passage, each drawn by the component for its part. */

import type { ComponentType } from "react";
import { Guard } from "../kit/Guard";
import type { Part, Passage } from "../values";
import { CompactionBlock } from "./CompactionBlock";
import { ForkBlock } from "./ForkBlock";
import { NodesBlock } from "./NodesBlock";
import { TextBlock } from "./TextBlock";
import { ThinkingBlock } from "./ThinkingBlock";
import { ToolUseBlock } from "./ToolUseBlock";

export interface PartProps<P> {
  part: P;
  passage: Passage;
  /** Its place in the passage. */
  at: number;
}

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
  return parts.map((part) => {
    const at = passage.parts.indexOf(part);
    const Drawing = DRAWN[part.part] as ComponentType<PartProps<Part>>;
    return (
      <Guard key={at} fallback={<p className="note error">This could not be drawn; raw shows it.</p>}>
        <Drawing part={part} passage={passage} at={at} />
      </Guard>
    );
  });
}
