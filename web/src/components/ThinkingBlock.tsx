/** Thinking, closed until it is opened. */

import { useId } from "react";
import { Markdown } from "../kit/Markdown";
import { Collapsible } from "../parts/Collapsible";
import { Root } from "./Root";

export interface ThinkingBlockProps {
  /** Empty if only the signature was recorded. */
  thinking: string;
  /** Whether it is closed at first. */
  collapsed?: boolean;
}

export function ThinkingBlock({ thinking, collapsed = true }: ThinkingBlockProps) {
  const id = useId();
  if (!thinking) {
    return (
      <Root>
        <div className="thinking not-recorded">
          <span className="muted">Thinking (not recorded)</span>
        </div>
      </Root>
    );
  }
  return (
    <Root>
      <Collapsible name={id} byDefault={!collapsed} className="thinking" header={<span className="muted">Thinking</span>}>
        {() => <Markdown text={thinking} />}
      </Collapsible>
    </Root>
  );
}
