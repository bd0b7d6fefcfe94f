import { Markdown } from "../markdown/Markdown";
import type { TextPart } from "../data/values";
import { ShowAll } from "./ShowAll";
import type { PartProps } from "./partProps";

export function TextBlock({ part, item }: PartProps<TextPart>) {
  return (
    <div className="text-block">
      <Markdown text={part.text} />
      <ShowAll chars={part.chars} item={item} />
    </div>
  );
}
