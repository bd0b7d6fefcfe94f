import { Markdown } from "../markdown/Markdown";
import type { Prose as ProseNode } from "../data/values";
import { useCut, type NodeProps } from "./nodeProps";
import { exact } from "../kit/format";

export function Prose({ node, place }: NodeProps<ProseNode>) {
  const { cut, loadWhole } = useCut(place);
  return (
    <div className="node-prose">
      <Markdown text={node.text} />
      {cut && (
        <button type="button" className="show-more" onClick={loadWhole}>
          Show all {exact(cut.lines)} lines
        </button>
      )}
    </div>
  );
}
