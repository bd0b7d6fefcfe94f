import { Markdown } from "../kit/Markdown";
import type { TextPart } from "../values";
import { Rest } from "./Rest";
import type { PartProps } from "./drawing";

export function TextBlock({ part, passage }: PartProps<TextPart>) {
  return (
    <div className="text-block">
      <Markdown text={part.text} />
      <Rest chars={part.chars} passage={passage} />
    </div>
  );
}
