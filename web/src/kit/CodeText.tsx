/** Lines of source code, highlighted once the highlighter is loaded. */

import { memo, useEffect, useMemo, useState, type ReactNode } from "react";
import type { Token } from "./highlighter";
import { Lines } from "./Lines";
import { PlainText } from "./PlainText";

/** Longer texts are not highlighted: it would block the page. */
const LONGEST = 120_000;

interface Props {
  text: string;
  language?: string | null | undefined;
  start?: number | null;
  marks?: string[];
  place?: string;
  total?: number | undefined;
  label?: string;
  loadWhole?(): void;
}

export const CodeText = memo(function CodeText(props: Props) {
  const { text, language = null, start = null, marks, place = `text:${text.length}:${text.slice(0, 40)}` } = props;
  const lines = useMemo(() => text.replace(/\n$/, "").split("\n"), [text]);
  const tokens = useTokens(text, language);
  const marked = useMemo(() => marksPattern(marks), [marks]);
  const line = (index: number) => (
    <div className="line" key={index}>
      {start !== null && <span className="line-number" data-n={start + index} />}
      <code>
        {tokens?.[index]?.map((token, at) => (
          <span key={at} className={token.kind || undefined}>
            <Marked text={token.text} pattern={marked} />
          </span>
        )) ?? <Marked text={lines[index] ?? ""} pattern={marked} />}
        {"\n"}
      </code>
    </div>
  );
  return (
    <Lines
      className={start === null ? "code" : "code numbered"}
      count={lines.length}
      total={props.total}
      line={line}
      place={place}
      label={props.label ?? "code"}
      loadWhole={props.loadWhole}
    />
  );
});

function useTokens(text: string, language: string | null): Token[][] | null {
  const [tokens, setTokens] = useState<{ text: string; lines: Token[][] | null } | null>(null);
  useEffect(() => {
    if (!language || text.length > LONGEST) return;
    let current = true;
    void import("./highlighter").then(({ tokenLines }) => {
      if (current) setTokens({ text, lines: tokenLines(text.replace(/\n$/, ""), language) });
    });
    return () => {
      current = false;
    };
  }, [text, language]);
  return tokens?.text === text ? tokens.lines : null;
}

function marksPattern(marks: string[] | undefined): RegExp | null {
  const texts = (marks ?? []).filter(Boolean);
  if (!texts.length) return null;
  return new RegExp(`(${texts.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`);
}

function Marked({ text, pattern }: { text: string; pattern: RegExp | null }): ReactNode {
  if (!pattern) return <PlainText text={text} />;
  return text.split(pattern).map((piece, index) =>
    index % 2 ? (
      <mark key={index}>
        <PlainText text={piece} />
      </mark>
    ) : (
      <PlainText key={index} text={piece} />
    ),
  );
}
