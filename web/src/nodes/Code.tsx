import type { Code as CodeNode } from "../data/values";
import { CodeText } from "../kit/CodeText";
import { useCut, type NodeProps } from "./nodeProps";

export function Code({ node, place }: NodeProps<CodeNode>) {
  const { cut, loadWhole } = useCut(place);
  return (
    <CodeText
      text={node.text}
      language={node.language}
      start={node.start}
      marks={node.marks}
      place={place}
      total={cut?.lines}
      label={node.path ?? "code"}
      loadWhole={loadWhole}
    />
  );
}
