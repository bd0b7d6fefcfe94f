/** Lines of source code, highlighted once the worker has done it. */

import { memo, useMemo, type ReactNode } from "react";
import { splitDirections } from "./directions";
import type { Token } from "./highlighter";
import { Lines } from "./Lines";
import { LongText } from "./LongText";
import { PlainText } from "./PlainText";
import { useTokens } from "./useTokens";

/** Of longer lines the rest is shown on request. */
const LONGEST_LINE = 5000;

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
  const code = useMemo(() => [text.replace(/\n$/, "")], [text]);
  const lines = useMemo(() => code.join("").split("\n"), [code]);
  const tokens = useTokens(code, language)?.[0];
  const marked = useMemo(() => marksPattern(marks), [marks]);
  const line = (index: number) => (
    <div className="line" key={index}>
      {start !== null && <span className="line-number" data-n={start + index} />}
      <code>
        <Line text={lines[index] ?? ""} tokens={tokens?.[index]} marked={marked} />
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
      text={() => text}
    />
  );
});

function Line({ text, tokens, marked }: { text: string; tokens: Token[] | null | undefined; marked: RegExp | null }): ReactNode {
  if (text.length > LONGEST_LINE) return <LongText text={text} first={LONGEST_LINE} />;
  if (!tokens || splitDirections(text).length > 1) return <Marked text={text} pattern={marked} />;
  return tokens.map((token, at) => (
    <span key={at} className={token.kind || undefined}>
      <Marked text={token.text} pattern={marked} />
    </span>
  ));
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
