import { Plain } from "../kit/visible";
import type { Note as NoteNode } from "../values";
import type { NodeProps } from "./drawing";

export function Note({ node }: NodeProps<NoteNode>) {
  return (
    <p className={`note ${node.level}`}>
      <Plain text={node.text} />
    </p>
  );
}
