import { PlainText } from "../kit/PlainText";
import type { Note as NoteNode } from "../values";
import type { NodeProps } from "./nodeProps";

export function Note({ node }: NodeProps<NoteNode>) {
  return (
    <p className={`note ${node.level}`}>
      <PlainText text={node.text} />
    </p>
  );
}
