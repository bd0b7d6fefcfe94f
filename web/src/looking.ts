/** Searching and filtering passages that are here: what the server does, for an exported page. */

import { fitsPart, isPrompt } from "./filter";
import type { Filter } from "./source";
import type { CallBody, Hit, Node, Part, Passage } from "./values";

const AROUND = 40;

interface Place {
  where: string;
  call: number | null;
  text: string;
}

export function hitsIn(passage: Passage, bodies: Record<string, CallBody>, wanted: string): Hit[] {
  return passage.parts.flatMap((part) =>
    placesIn(part, passage, bodies).flatMap(({ where, call, text }) => {
      const at = text.toLowerCase().indexOf(wanted);
      if (at < 0) return [];
      const end = at + wanted.length;
      return [
        {
          passage: passage.index,
          key: passage.key,
          turn: passage.turn,
          agent: null,
          call,
          where,
          before: text.slice(Math.max(0, at - AROUND), at),
          match: text.slice(at, end),
          after: text.slice(end, end + AROUND),
        },
      ];
    }),
  );
}

function placesIn(part: Part, passage: Passage, bodies: Record<string, CallBody>): Place[] {
  const said = isPrompt(passage) ? "prompt" : passage.kind === "response" ? "text" : "notice";
  switch (part.part) {
    case "text":
      return [{ where: said, call: null, text: part.text }];
    case "thinking":
      return [{ where: "thinking", call: null, text: part.text }];
    case "compaction":
      return [{ where: "notice", call: null, text: part.summary }];
    case "nodes":
      return [{ where: said, call: null, text: nodesText(part.nodes) }];
    case "call": {
      const text = [part.name, part.title, nodesText(bodies[part.index]?.nodes ?? [])].join(" ");
      return [{ where: "call", call: part.index, text }];
    }
    case "fork":
      return [];
  }
}

/** Every text in the nodes. */
export function nodesText(nodes: Node[]): string {
  const texts: string[] = [];
  const walk = (value: unknown, name: string) => {
    if (typeof value === "string") {
      if (!UNREAD.has(name)) texts.push(value);
    } else if (Array.isArray(value)) for (const item of value) walk(item, name);
    else if (value && typeof value === "object") for (const [inner, item] of Object.entries(value)) walk(item, inner);
  };
  walk(nodes, "");
  return texts.join("\n");
}

/** Fields that say how to draw, not what. */
const UNREAD = new Set(["node", "language", "stream", "state", "level", "data", "url", "media_type"]);

export const fitsFilter = (passage: Passage, filter: Filter): boolean =>
  passage.parts.some((part) => fitsPart(part, passage, filter));
