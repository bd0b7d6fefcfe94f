import { PlainText } from "../kit/PlainText";
import type { Note as NoteNode } from "../data/values";
import type { NodeProps } from "./nodeProps";

export function Note({ node }: NodeProps<NoteNode>) {
  return (
    <PlainText as="p" className={`note ${node.level}`} text={node.text} />
  );
}
