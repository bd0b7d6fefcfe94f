/** Source in colours: a chunk of its own, fetched when the first code is on the screen. */

import { common, createLowlight } from "lowlight";
import type { ElementContent, Root } from "hast";

const lowlight = createLowlight(common);

/** A piece of a line, with the highlighter's class. */
export interface Token {
  text: string;
  kind: string;
}

const OTHER_NAMES: Record<string, string> = { tsx: "typescript", jsx: "javascript", console: "shell", vue: "xml" };

export function tokenLines(text: string, language: string): Token[][] | null {
  const name = OTHER_NAMES[language.toLowerCase()] ?? language.toLowerCase();
  if (!lowlight.registered(name)) return null;
  return inLines(lowlight.highlight(name, text));
}

function inLines(tree: Root): Token[][] {
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
