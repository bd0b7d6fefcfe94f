import { Plain } from "../kit/visible";
import { NodeList } from "../nodes/NodeView";
import type { NodesPart } from "../values";
import { Fold } from "./Fold";
import type { PartProps } from "./ContentBlocks";

export function NodesBlock({ part, passage, at }: PartProps<NodesPart>) {
  const place = `${passage.key}:${at}`;
  const nodes = () => <NodeList nodes={part.nodes} place={place} />;
  if (!part.title) return <div className="nodes-block">{nodes()}</div>;
  return (
    <Fold
      name={`nodes:${place}`}
      className="aside-block"
      line={
        <span className="call-title">
          <Plain text={part.title} />
        </span>
      }
    >
      {nodes}
    </Fold>
  );
}
