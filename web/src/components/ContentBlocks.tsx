/** The content blocks of a message, each drawn by its component. */

import { use, useId } from "react";
import { ErrorBoundary } from "../kit/ErrorBoundary";
import { NodeList } from "../nodes/NodeList";
import { ConversationContext } from "./conversation";
import { resultNodes } from "./resultNodes";
import { Root } from "./Root";
import type { ContentBlock } from "./sessionJson";
import { TextBlock } from "./TextBlock";
import { ThinkingBlock } from "./ThinkingBlock";
import { ToolUseBlock } from "./ToolUseBlock";

export interface ContentBlocksProps {
  blocks: readonly ContentBlock[];
}

export function ContentBlocks({ blocks }: ContentBlocksProps) {
  return (
    <Root>
      {blocks.map((block, index) => (
        <ErrorBoundary key={index} fallback={<p className="note error">Could not display this.</p>}>
          <Block block={block} />
        </ErrorBoundary>
      ))}
    </Root>
  );
}

function Block({ block }: { block: ContentBlock }) {
  const { calls } = use(ConversationContext);
  const place = useId();
  if (block.type === "text") return block.text?.trim() ? <TextBlock text={block.text} /> : null;
  if (block.type === "thinking" || block.type === "redacted_thinking") return <ThinkingBlock thinking={block.thinking ?? ""} />;
  if (block.type.endsWith("tool_use")) {
    const call = calls.get(block.id ?? "");
    return <ToolUseBlock name={block.name ?? ""} input={block.input} result={call?.result ?? null} call={call} />;
  }
  // The result of a call is shown with the call.
  if (block.type.endsWith("tool_result") && calls.has(block.tool_use_id ?? "")) return null;
  return <NodeList nodes={resultNodes([block])} place={place} />;
}
