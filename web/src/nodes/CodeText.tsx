/** Lines of source, in colours once the highlighter is here. */

import { memo, useEffect, useMemo, useState, type ReactNode } from "react";
import type { Token } from "../kit/highlighter";
import { Lines } from "../kit/Lines";
import { Plain } from "../kit/visible";

/** Longer texts are shown without colours: finding them would hold up the page. */
const LONGEST = 120_000;

interface Props {
  text: string;
  language?: string | null | undefined;
  start?: number | null;
  marks?: string[];
  place?: string;
  total?: number | undefined;
  label?: string;
  whole?(): void;
}

export const CodeText = memo(function CodeText(props: Props) {
  const { text, language = null, start = null, marks, place = `text:${text.length}:${text.slice(0, 40)}` } = props;
  const lines = useMemo(() => text.replace(/\n$/, "").split("\n"), [text]);
  const tokens = useTokens(text, language);
  const marked = useMemo(() => marksPattern(marks), [marks]);
  const line = (index: number) => (
    <div className="ln" key={index}>
      {start !== null && <span className="no" data-n={start + index} />}
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
      whole={props.whole}
    />
  );
});

function useTokens(text: string, language: string | null): Token[][] | null {
  const [tokens, setTokens] = useState<{ text: string; lines: Token[][] | null } | null>(null);
  useEffect(() => {
    if (!language || text.length > LONGEST) return;
    let current = true;
    void import("../kit/highlighter").then(({ tokenLines }) => {
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
  if (!pattern) return <Plain text={text} />;
  return text.split(pattern).map((piece, index) =>
    index % 2 ? (
      <mark key={index}>
        <Plain text={piece} />
      </mark>
    ) : (
      <Plain key={index} text={piece} />
    ),
  );
}
