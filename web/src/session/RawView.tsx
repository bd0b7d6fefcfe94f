/** The exact lines that something was made of, and what the ledger says of each. */

import { useState } from "react";
import { useReading } from "../contexts";
import { useAsked } from "../kit/useAsked";
import { Plain } from "../kit/visible";
import { exact } from "../kit/words";
import type { Target } from "../source";
import type { RawLine } from "../values";

export function RawView({ target }: { target: Target }) {
  const { source, thread } = useReading();
  const [whole, setWhole] = useState(false);
  const asked = useAsked(`${JSON.stringify(target)} ${whole}`, () => source.lines(thread, target, whole));
  if (asked.state === "failed") return <p className="note error">{asked.error.message}</p>;
  if (asked.state === "waiting") return <p className="faint waiting">fetching…</p>;
  const { path, lines } = asked.value;
  return (
    <section className="raw" aria-label="raw lines">
      {path && (
        <p className="raw-path">
          <Plain text={path} />
        </p>
      )}
      {lines.map((line) => (
        <Raw key={`${line.line} ${line.offset}`} line={line} whole={() => setWhole(true)} />
      ))}
    </section>
  );
}

function Raw({ line, whole }: { line: RawLine; whole(): void }) {
  const [indented, setIndented] = useState(false);
  const pretty = indented && line.chars === null ? indentedJson(line.text) : null;
  return (
    <div className="raw-line">
      <p>
        <span className="label" title={`at byte ${exact(line.offset)}`}>
          line {exact(line.line)}
        </span>{" "}
        <span className="fate">{line.fate}</span> <span className="faint">{line.reason}</span>
        {line.chars === null && (
          <button type="button" className="quiet" aria-pressed={indented} onClick={() => setIndented(!indented)}>
            {indented ? "as written" : "indent"}
          </button>
        )}
      </p>
      <pre tabIndex={0}>
        <Plain text={pretty ?? line.text} />
      </pre>
      {line.chars !== null && (
        <button type="button" className="more" onClick={whole}>
          all {exact(line.chars)} characters
        </button>
      )}
    </div>
  );
}

function indentedJson(text: string): string | null {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null; // a line that is no JSON is shown as it is
  }
}
