import { CutsContext } from "../nodes/nodeProps";
import { NodeList } from "../nodes/NodeList";
import { useThreadStore } from "../contexts";
import type { NodesPart } from "../data/values";
import type { PartProps } from "./partProps";

export function NodesBlock({ part, item, at }: PartProps<NodesPart>) {
  const store = useThreadStore();
  return (
    <div className="nodes-block">
      <CutsContext value={{ cuts: part.cut, loadWhole: () => void store.loadWhole(item.index) }}>
        <NodeList nodes={part.nodes} place={`${item.key}:${at}`} />
      </CutsContext>
    </div>
  );
}
