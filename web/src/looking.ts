/** Searching passages that are here: what the server does (`finding.py`), for an exported page. */

import { whereOf } from "./filter";
import type { CallBody, Hit, Node, Part, Passage } from "./values";

/** How many characters are shown on each side of a hit. */
const AROUND = 60;
const LONGEST = 500;

/** What finds a text, whatever its case. */
export const needle = (text: string): RegExp =>
  new RegExp(text.slice(0, LONGEST).replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");

export function hitsIn(passage: Passage, bodies: Record<string, CallBody>, wanted: RegExp, agent: string | null): Hit[] {
  const said = passage.parts.map((part) => (part.part === "text" ? part.text : "")).join("\n");
  return passage.parts.flatMap((part) => {
    const where = whereOf(part, passage);
    const text = textOf(part, bodies, said);
    const found = wanted.exec(text);
    if (!where || !found) return [];
    const [match] = found;
    const end = found.index + match.length;
    return [
      {
        passage: passage.index,
        key: passage.key,
        turn: passage.turn,
        agent,
        call: part.part === "call" ? part.index : null,
        where,
        before: text.slice(Math.max(0, found.index - AROUND), found.index),
        match,
        after: text.slice(end, end + AROUND),
      },
    ];
  });
}

/** The text of a part; of a notice's details, what its text does not say already. */
function textOf(part: Part, bodies: Record<string, CallBody>, said: string): string {
  switch (part.part) {
    case "text":
    case "thinking":
      return part.text;
    case "compaction":
      return part.summary;
    case "nodes":
      if (part.title !== "details") return nodesText(part.nodes);
      return part.nodes.flatMap(nodeTexts).filter((text) => !said.includes(text)).join("\n");
    case "call":
      return [`${part.name} ${part.title}`, part.note, nodesText(bodies[part.index]?.nodes ?? [])].join("\n");
    case "fork":
      return "";
  }
}

/** Every text in the nodes. */
export const nodesText = (nodes: Node[]): string => nodes.flatMap(nodeTexts).join("\n");

function nodeTexts(node: Node): string[] {
  if (node.node === "data") return textsIn(node.value, HIDDEN);
  if (node.node === "section") return [node.title, ...node.nodes.flatMap(nodeTexts)];
  if (node.node === "facts") return node.items.map(({ value }) => value);
  if (node.node === "picture") return node.name ? [node.name] : [];
  return textsIn(node, DRAWING);
}

function textsIn(value: unknown, unread: ReadonlySet<string>): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap((item) => textsIn(item, unread));
  if (!value || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, item]) => (unread.has(name) ? [] : textsIn(item, unread)));
}

/** Fields of a node that say how to draw, not what. */
const DRAWING = new Set(["node", "language", "stream", "state", "level"]);

/** Fields of what was recorded whose text is no text. */
const HIDDEN = new Set(["signature", "base64", "data", "image_data"]);
