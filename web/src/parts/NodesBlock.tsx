import { CutsContext } from "../nodes/drawing";
import { NodeList } from "../nodes/NodeView";
import { useReading } from "../contexts";
import type { NodesPart } from "../values";
import type { PartProps } from "./drawing";

export function NodesBlock({ part, passage, at }: PartProps<NodesPart>) {
  const reading = useReading();
  return (
    <div className="nodes-block">
      <CutsContext value={{ cuts: part.cut, whole: () => void reading.loadWhole(passage.index) }}>
        <NodeList nodes={part.nodes} place={`${passage.key}:${at}`} />
      </CutsContext>
    </div>
  );
}
