/** Text in Markdown. */

import { Markdown } from "../kit/Markdown";
import { Root } from "./Root";

export interface TextBlockProps {
  text: string;
}

export function TextBlock({ text }: TextBlockProps) {
  return (
    <Root>
      <div className="text-block">
        <Markdown text={text} />
      </div>
    </Root>
  );
}
