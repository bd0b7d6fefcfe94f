/** The texts of a timeline item, in order. Filters, copying as Markdown and opening the parts that a search hit is in read an item through this. */

import type { CallPart, Node, Part, TimelineItem } from "../data/values";

export type TextKind = "prompt" | "text" | "thinking" | "call" | "notice";

export interface ItemText {
  kind: TextKind;
  /** The part that has the text, and its index in the item. */
  part: Part;
  at: number;
  /** The call, if the text belongs to one. */
  call: CallPart | null;
  /** A function, because a filter does not need the text. */
  text(): string;
}

export const isPrompt = (item: TimelineItem): boolean => item.kind === "prompt" || item.kind === "command";

/** Every text of an item. */
export const itemTexts = (item: TimelineItem): ItemText[] =>
  item.parts.flatMap((part, at) => {
    if (part.part === "fork") return [];
    const call = part.part === "call" ? part : null;
    return [{ kind: kindOf(part, item), part, at, call, text: () => textOf(part, item) }];
  });

/** The kind of a part's text. Collapsed parts, such as system reminders, are notices whatever the item is. */
function kindOf(part: Part, item: TimelineItem): TextKind {
  if (part.part === "call" || part.part === "thinking") return part.part;
  if (part.part === "compaction" || (part.part === "nodes" && part.title)) return "notice";
  return isPrompt(item) ? "prompt" : item.kind === "response" ? "text" : "notice";
}

function textOf(part: Part, item: TimelineItem): string {
  switch (part.part) {
    case "text":
    case "thinking":
      return part.text;
    case "compaction":
      return part.summary;
    case "nodes":
      return (part.title === "details" ? newTexts(part.nodes, item) : part.nodes.flatMap(nodeTexts)).join("\n");
    case "call":
    case "fork":
      return "";
  }
}

/** The texts of a notice's details that the notice itself does not already say. */
function newTexts(nodes: Node[], item: TimelineItem): string[] {
  const shown = item.parts.map((part) => (part.part === "text" ? part.text : "")).join("\n");
  return nodes.flatMap(nodeTexts).filter((text) => !shown.includes(text.trim()));
}

function nodeTexts(node: Node): string[] {
  if (node.node === "data") return stringsIn(node.value, NOT_TEXT);
  if (node.node === "section") return [node.title, ...node.nodes.flatMap(nodeTexts)];
  if (node.node === "facts") return node.items.map(({ value }) => value);
  if (node.node === "picture") return node.name ? [node.name] : [];
  return stringsIn(node, STYLE_FIELDS);
}

function stringsIn(value: unknown, skipped: ReadonlySet<string>): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap((item) => stringsIn(item, skipped));
  if (!value || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, item]) => (skipped.has(name) ? [] : stringsIn(item, skipped)));
}

/** Fields of a node that say how to draw it. */
const STYLE_FIELDS = new Set(["node", "language", "stream", "state", "level"]);

/** Recorded fields whose strings are not text. */
const NOT_TEXT = new Set(["signature", "base64", "data", "image_data"]);
