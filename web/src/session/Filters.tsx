/** Keep only some of the document: prompts, text, thinking, calls of a tool, errors. */

import { useReading } from "../contexts";
import { exact, plural } from "../kit/words";
import type { Sieve } from "../source";
import { EVERYTHING, keepsAll } from "./sieve";
import type { Rows } from "./useFiltered";

const KINDS = ["prompts", "text", "thinking"];

interface Props {
  sieve: Sieve;
  onChange(sieve: Sieve): void;
  found: Rows;
}

export function Filters({ sieve, onChange, found }: Props) {
  const { overview } = useReading();
  const tools = Object.entries(overview.tools).sort(([, a], [, b]) => b - a);
  const toggle = (kind: string) => {
    const kinds = sieve.kinds.includes(kind) ? sieve.kinds.filter((other) => other !== kind) : [...sieve.kinds, kind];
    onChange({ ...sieve, kinds });
  };
  const chooseTool = (name: string) => {
    const kinds = sieve.kinds.filter((kind) => kind !== "tools");
    const all = name === "*";
    onChange({ ...sieve, kinds: all ? [...kinds, "tools"] : kinds, tools: name && !all ? [name] : [] });
  };
  return (
    <div className="filters" role="group" aria-label="show only">
      <span className="faint">only</span>
      {KINDS.map((kind) => (
        <button
          key={kind}
          type="button"
          className="chip"
          aria-pressed={sieve.kinds.includes(kind)}
          onClick={() => toggle(kind)}
        >
          {kind}
        </button>
      ))}
      {tools.length > 0 && (
        <select
          className={sieve.tools.length || sieve.kinds.includes("tools") ? "chip on" : "chip"}
          aria-label="calls of a tool"
          value={sieve.tools[0] ?? (sieve.kinds.includes("tools") ? "*" : "")}
          onChange={(event) => chooseTool(event.target.value)}
        >
          <option value="">tools</option>
          <option value="*">all calls</option>
          {tools.map(([name, count]) => (
            <option key={name} value={name}>
              {name} {exact(count)}
            </option>
          ))}
        </select>
      )}
      {overview.errors > 0 && (
        <button
          type="button"
          className="chip"
          aria-pressed={sieve.errors}
          onClick={() => onChange({ ...sieve, errors: !sieve.errors })}
        >
          {plural(overview.errors, "error")}
        </button>
      )}
      {!keepsAll(sieve) && (
        <>
          <span className="faint num" role="status">
            {plural(found.indices.length, "passage")}
            {!found.done && "…"}
          </span>
          <button type="button" className="quiet" onClick={() => onChange(EVERYTHING)}>
            show all
          </button>
        </>
      )}
    </div>
  );
}
