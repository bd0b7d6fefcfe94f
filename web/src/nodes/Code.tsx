import type { Code as CodeNode } from "../values";
import { CodeText } from "./CodeText";
import { useCut, type NodeProps } from "./drawing";

export function Code({ node, place }: NodeProps<CodeNode>) {
  const { cut, whole } = useCut(place);
  return (
    <CodeText
      text={node.text}
      language={node.language}
      start={node.start}
      marks={node.marks}
      place={place}
      total={cut?.lines}
      label={node.path ?? "code"}
      whole={whole}
    />
  );
}
