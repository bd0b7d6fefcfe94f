/** Syntax highlighting, which takes long on some texts: it runs in a worker. */

import { common, createLowlight } from "lowlight";
import type { ElementContent, Root } from "hast";

const lowlight = createLowlight(common);

/** Part of a line, with its highlighting class. */
export interface Token {
  text: string;
  kind: string;
}

const ALIASES: Record<string, string> = { tsx: "typescript", jsx: "javascript", console: "shell", vue: "xml" };

export function tokenLines(text: string, language: string): Token[][] | null {
  const name = ALIASES[language.toLowerCase()] ?? language.toLowerCase();
  if (!lowlight.registered(name)) return null;
  return splitLines(lowlight.highlight(name, text));
}

function splitLines(tree: Root): Token[][] {
  const lines: Token[][] = [[]];
  const walk = (nodes: (ElementContent | Root["children"][number])[], kind: string) => {
    for (const node of nodes) {
      if (node.type === "element") {
        const names = node.properties.className;
        walk(node.children, Array.isArray(names) ? String(names[0]) : kind);
      } else if (node.type === "text") {
        node.value.split("\n").forEach((text, index) => {
          if (index) lines.push([]);
          if (text) lines.at(-1)?.push({ text, kind });
        });
      }
    }
  };
  walk(tree.children, "");
  return lines;
}
