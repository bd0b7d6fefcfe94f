/** One message: a header and its content, or the given children. */

import { memo, type ReactNode } from "react";
import { DisclosureButton } from "../kit/DisclosureButton";
import { useExpanded } from "../contexts";
import { useSelector } from "../kit/store";
import { ContentBlocks } from "./ContentBlocks";
import { MessageHeader } from "./MessageHeader";
import { Root } from "./Root";
import type { ContentBlock, SessionMessage } from "./sessionJson";

export interface MessageProps {
  message: SessionMessage;
  children?: ReactNode;
}

/** Kinds that are closed until they are opened. */
const CLOSED = new Set(["meta", "summary"]);

export const Message = memo(function Message({ message, children }: MessageProps) {
  const { kind, model, timestamp, usage = null, flags = [] } = message;
  return (
    <Root>
      <article className={["message", kind, ...flags].join(" ")} data-message={message.id}>
        <div className="message-body">
          {children ?? (
            <>
              <MessageHeader kind={kind} model={model} timestamp={timestamp} usage={usage} />
              {CLOSED.has(kind) ? <Closed message={message} /> : <ContentBlocks blocks={blocksOf(message)} />}
            </>
          )}
        </div>
      </article>
    </Root>
  );
});

function Closed({ message }: { message: SessionMessage }) {
  const expanded = useExpanded();
  const key = `message:${message.id}`;
  const open = useSelector(expanded, () => expanded.has(key));
  return (
    <>
      <DisclosureButton small open={open} onToggle={() => expanded.toggle(key)}>
        <span className="muted">{open ? "Hide" : "Show"}</span>
      </DisclosureButton>
      {open && <ContentBlocks blocks={blocksOf(message)} />}
    </>
  );
}

/** The blocks of a response; of other messages the text without the client's markup, and the blocks that are no text. */
function blocksOf({ kind, text, blocks }: SessionMessage): ContentBlock[] {
  if (kind === "response") return blocks;
  return [...(text.trim() ? [{ type: "text", text }] : []), ...blocks.filter(({ type }) => type !== "text")];
}
