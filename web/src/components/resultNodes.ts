/** Blocks and values as nodes, for calls that reread has not drawn. */

import type { Node } from "../data/values";
import { toBlocks } from "./records";
import type { ContentBlock } from "./sessionJson";

export const resultNodes = (blocks: readonly ContentBlock[]): Node[] => blocks.flatMap(blockNodes);

function blockNodes(block: ContentBlock): Node[] {
  if (block.type === "text") return [{ node: "terminal", text: block.text ?? "", stream: "out" }];
  if (block.type === "image" || block.type === "document") {
    const { media_type = "", data = null } = block.source ?? {};
    return [{ node: "picture", media_type, data, size: null, width: null, height: null, name: null, url: null }];
  }
  if (block.type.endsWith("tool_result")) {
    const inner = toBlocks(block.content);
    if (inner.length) return resultNodes(inner);
    return block.content === undefined || block.content === "" ? [] : [{ node: "data", value: block.content }];
  }
  return [{ node: "data", value: block }];
}
