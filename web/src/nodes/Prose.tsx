import { Markdown } from "../kit/Markdown";
import type { Prose as ProseNode } from "../values";
import { useCut, type NodeProps } from "./drawing";
import { exact } from "../kit/words";

export function Prose({ node, place }: NodeProps<ProseNode>) {
  const { cut, whole } = useCut(place);
  return (
    <div className="node-prose">
      <Markdown text={node.text} />
      {cut && (
        <button type="button" className="more" onClick={whole}>
          all {exact(cut.lines)} lines
        </button>
      )}
    </div>
  );
}
