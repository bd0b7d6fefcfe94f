/** Markdown as React elements: no raw HTML, no remote images, and links only to safe addresses. */

import type { Element, ElementContent, Root } from "hast";
import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { CodeText } from "./CodeText";
import { ErrorBoundary } from "./ErrorBoundary";
import { INVISIBLE_TITLE, PlainText, splitInvisible, type Piece } from "./PlainText";

/** Longer texts are shown as plain text. */
const LONGEST = 200_000;

export const isSafe = (url: string | undefined): url is string => !!url && /^(https?:\/\/|mailto:)/i.test(url);

/** Show invisible characters, and remove ids, which would clash between messages. */
function rehypeInvisible() {
  return (tree: Root) => replaceChildren(tree);
}

function replaceChildren(parent: Root | Element): void {
  parent.children = parent.children.flatMap((child): ElementContent[] => {
    if (child.type === "text") return splitInvisible(child.value).map(pieceElement);
    if (child.type === "element") {
      delete child.properties.id;
      replaceChildren(child);
    }
    return [child as ElementContent];
  });
}

const pieceElement = (piece: Piece): ElementContent =>
  typeof piece === "string"
    ? { type: "text", value: piece }
    : {
        type: "element",
        tagName: "span",
        properties: { className: ["invisible"], title: INVISIBLE_TITLE },
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
  return <CodeText text={code ? textContent(code).replace(/\n$/, "") : ""} language={language} />;
}

/** The text of an element; invisible characters in it are already replaced by their codes. */
const textContent = (node: ElementContent): string => {
  if (node.type === "text") return node.value;
  if (node.type !== "element") return "";
  return node.children.map(textContent).join("");
};

const plugins = [remarkGfm];
const rehypePlugins = [rehypeInvisible];

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const plain = (
    <div className="plain">
      <PlainText text={text} />
    </div>
  );
  if (text.length > LONGEST) return plain;
  return (
    <ErrorBoundary fallback={plain}>
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
    </ErrorBoundary>
  );
});
