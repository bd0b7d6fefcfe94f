/** Markdown as React elements: no raw HTML, no remote images, and links only to safe addresses. */

import { memo, useEffect, useReducer, useState, type ReactNode } from "react";
import { CodeText } from "../kit/CodeText";
import { ErrorBoundary } from "../kit/ErrorBoundary";
import { LongText } from "../kit/LongText";
import { cutTree, type MarkdownElement, type MarkdownNode } from "./markdownTree";
import { treeLater, treeNow } from "../kit/offThread";
import { PlainText } from "../kit/PlainText";
import { SafeLink } from "../kit/SafeLink";

/** How many elements are drawn at first, and with each step. */
const STEP = 1500;

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const tree = useTree(text);
  const plain = (
    <div className="plain">
      <LongText text={text} />
    </div>
  );
  if (!tree) return plain;
  return (
    <ErrorBoundary fallback={plain}>
      <Tree tree={tree} />
    </ErrorBoundary>
  );
});

/** The tree of a text; null while it is made, or if that takes too long. */
function useTree(text: string): MarkdownNode[] | null {
  const [, render] = useReducer((times: number) => times + 1, 0);
  const tree = treeNow(text);
  useEffect(() => {
    if (tree !== undefined) return;
    let current = true;
    void treeLater(text).then(() => current && render());
    return () => {
      current = false;
    };
  }, [text, tree]);
  return tree ?? null;
}

function Tree({ tree }: { tree: MarkdownNode[] }) {
  const [budget, setBudget] = useState(STEP);
  const { nodes, whole } = cutTree(tree, budget);
  return (
    <div className="prose" dir="auto">
      {children(nodes)}
      {!whole && (
        <button type="button" className="show-more" onClick={() => setBudget(budget + STEP)}>
          Show more
        </button>
      )}
    </div>
  );
}

const children = (nodes: MarkdownNode[]): ReactNode[] =>
  nodes.map((node, index) => (typeof node === "string" ? <PlainText key={index} text={node} /> : <Node key={index} node={node} />));

/** Elements that are drawn as they are. */
const PLAIN = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "li", "blockquote", "thead", "tbody", "tr", "em", "strong", "s", "code"]);

function Node({ node }: { node: MarkdownElement }): ReactNode {
  const { tag } = node;
  const inner = children(node.children);
  if (PLAIN.has(tag)) {
    const Tag = tag as "p";
    const tasks = tag === "ul" && node.children.some((item) => isTask(item));
    return <Tag className={tasks ? "contains-task-list" : undefined}>{inner}</Tag>;
  }
  switch (tag) {
    case "a":
      return (
        <SafeLink url={node.url} text={textOf(node)}>
          {inner}
        </SafeLink>
      );
    case "image": {
      const name = textOf(node) || (node.url ?? "");
      return (
        <SafeLink url={node.url} text={name}>
          image: <PlainText text={name} />
        </SafeLink>
      );
    }
    case "pre":
      return <CodeText text={textOf(node).replace(/\n$/, "")} language={node.language || null} />;
    case "ol":
      return <ol start={node.start}>{inner}</ol>;
    case "table":
      return (
        <div className="scrolls" tabIndex={0} role="region" aria-label="table">
          <table>{inner}</table>
        </div>
      );
    case "th":
      return <th className={node.align}>{inner}</th>;
    case "td":
      return <td className={node.align}>{inner}</td>;
    case "task":
      return <span className="task">{node.done ? "☑" : "☐"}</span>;
    case "br":
      return <br />;
    case "hr":
      return <hr />;
    default:
      return inner;
  }
}

function isTask(node: MarkdownNode | undefined): boolean {
  if (typeof node !== "object") return false;
  return node.tag === "task" || ((node.tag === "li" || node.tag === "p") && isTask(node.children[0]));
}

const textOf = (node: MarkdownNode): string => (typeof node === "string" ? node : node.children.map(textOf).join(""));
