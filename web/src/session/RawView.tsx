/** The exact lines that something was made of, and what the ledger says of each. */

import { useState } from "react";
import { useThreadStore } from "../contexts";
import { useAsync } from "../kit/useAsync";
import { LongText } from "../kit/LongText";
import { PlainText } from "../kit/PlainText";
import { exact } from "../kit/format";
import type { Target } from "../data/source";
import type { RawLine } from "../data/values";

export function RawView({ target }: { target: Target }) {
  const { source, thread } = useThreadStore();
  const [whole, setWhole] = useState(false);
  const loaded = useAsync(`${JSON.stringify(target)} ${whole}`, () => source.lines(thread, target, whole));
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  if (loaded.state === "loading") return <p className="muted loading">Loading…</p>;
  const { path, lines } = loaded.value;
  return (
    <section className="raw" aria-label="Recorded lines">
      {path && <PlainText as="p" className="raw-path" text={path} />}
      {lines.map((line) => (
        <RawLineView key={`${line.line} ${line.offset}`} line={line} onShowAll={() => setWhole(true)} />
      ))}
    </section>
  );
}

function RawLineView({ line, onShowAll }: { line: RawLine; onShowAll(): void }) {
  const [indented, setIndented] = useState(false);
  const pretty = indented && line.chars === null ? indentedJson(line.text) : null;
  return (
    <div className="raw-line">
      <p>
        <span className="label" title={`byte offset ${exact(line.offset)}`}>
          line {exact(line.line)}
        </span>{" "}
        <span className="fate">{line.fate}</span> <span className="muted">{line.reason}</span>
        {line.chars === null && (
          <button type="button" className="link-button" aria-pressed={indented} onClick={() => setIndented(!indented)}>
            {indented ? "As recorded" : "Indent"}
          </button>
        )}
      </p>
      <pre tabIndex={0}>
        <LongText text={pretty ?? line.text} first={100_000} />
      </pre>
      {line.chars !== null && (
        <button type="button" className="show-more" onClick={onShowAll}>
          Show all {exact(line.chars)} characters
        </button>
      )}
    </div>
  );
}

function indentedJson(text: string): string | null {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null; // not JSON
  }
}
