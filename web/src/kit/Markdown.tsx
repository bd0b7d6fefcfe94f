/** Markdown as elements: no raw HTML, no loaded images, links only where they are safe to offer. */

import type { Element, ElementContent, Root } from "hast";
import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { CodeText } from "../nodes/CodeText";
import { Guard } from "./Guard";
import { Plain, pieces } from "./visible";

/** Beyond this a text is shown as it is written. */
const LONGEST = 200_000;

export const isSafe = (url: string | undefined): url is string => !!url && /^(https?:\/\/|mailto:)/i.test(url);

/** Invisible characters become elements, and ids, which would clash between messages, go. */
function rehypeShown() {
  return (tree: Root) => shownChildren(tree);
}

function shownChildren(parent: Root | Element): void {
  parent.children = parent.children.flatMap((child): ElementContent[] => {
    if (child.type === "text") return pieces(child.value).map(shownPiece);
    if (child.type === "element") {
      delete child.properties.id;
      shownChildren(child);
    }
    return [child as ElementContent];
  });
}

const shownPiece = (piece: string | { code: string }): ElementContent =>
  typeof piece === "string"
    ? { type: "text", value: piece }
    : {
        type: "element",
        tagName: "span",
        properties: { className: ["odd"], title: "A character that does not show" },
        children: [{ type: "text", value: piece.code }],
      };

export function SafeLink({ url, children }: { url: string | undefined; children: React.ReactNode }) {
  if (!isSafe(url)) return <span title={url}>{children}</span>;
  return (
    <a href={url} title={url} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

const components: Components = {
  a: ({ href, children }) => <SafeLink url={href}>{children}</SafeLink>,
  img: ({ src, alt }) => (
    <SafeLink url={typeof src === "string" ? src : undefined}>image: {alt || String(src ?? "")}</SafeLink>
  ),
  pre: ({ node }) => <FencedCode node={node} />,
  table: ({ children }) => (
    <div className="scrolls" tabIndex={0} role="region" aria-label="table">
      <table>{children}</table>
    </div>
  ),
  input: ({ checked }) => <span className="task">{checked ? "☑" : "☐"}</span>,
};

function FencedCode({ node }: { node?: Element | undefined }) {
  const code = node?.children.find((child) => child.type === "element");
  const names = code?.properties.className;
  const language = Array.isArray(names) ? String(names[0]).replace(/^language-/, "") : null;
  return <CodeText text={code ? written(code).replace(/\n$/, "") : ""} language={language} />;
}

/** The text again, from elements in which invisible characters were named. */
const written = (node: ElementContent): string => {
  if (node.type === "text") return node.value;
  if (node.type !== "element") return "";
  return node.children.map(written).join("");
};

const plugins = [remarkGfm];
const rehypePlugins = [rehypeShown];

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const plain = (
    <div className="plain">
      <Plain text={text} />
    </div>
  );
  if (text.length > LONGEST) return plain;
  return (
    <Guard fallback={plain}>
      <div className="prose" dir="auto">
        <ReactMarkdown
          remarkPlugins={plugins}
          rehypePlugins={rehypePlugins}
          components={components}
          urlTransform={(url) => url}
        >
          {text}
        </ReactMarkdown>
      </div>
    </Guard>
  );
});
