/** Keep only some of the document: prompts, text, thinking, calls of a tool, errors. */

import { useReading } from "../contexts";
import { EVERYTHING, keepsAll } from "../filter";
import { exact, plural } from "../kit/words";
import type { Filter } from "../source";
import type { Rows } from "./useFiltered";

const KINDS = ["prompts", "text", "thinking"];

interface Props {
  filter: Filter;
  onChange(filter: Filter): void;
  found: Rows;
}

export function Filters({ filter, onChange, found }: Props) {
  const { overview } = useReading();
  const tools = Object.entries(overview.tools).sort(([, a], [, b]) => b - a);
  const toggle = (kind: string) => {
    const kinds = filter.kinds.includes(kind) ? filter.kinds.filter((other) => other !== kind) : [...filter.kinds, kind];
    onChange({ ...filter, kinds, tools: [] });
  };
  const chooseTool = (name: string) => {
    const kinds = filter.kinds.filter((kind) => kind !== "tools");
    if (name === "*") onChange({ ...filter, kinds: [...kinds, "tools"], tools: [] });
    else onChange({ ...filter, kinds: name ? [] : kinds, tools: name ? [name] : [] });
  };
  return (
    <div className="filters" role="group" aria-label="show only">
      <span className="faint">only</span>
      {KINDS.map((kind) => (
        <button
          key={kind}
          type="button"
          className="chip"
          aria-pressed={filter.kinds.includes(kind)}
          onClick={() => toggle(kind)}
        >
          {kind}
        </button>
      ))}
      {tools.length > 0 && (
        <select
          className={filter.tools.length || filter.kinds.includes("tools") ? "chip on" : "chip"}
          aria-label="calls of a tool"
          value={filter.tools[0] ?? (filter.kinds.includes("tools") ? "*" : "")}
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
          aria-pressed={filter.errors}
          onClick={() => onChange({ ...filter, errors: !filter.errors })}
        >
          {plural(overview.errors, "error")}
        </button>
      )}
      {!keepsAll(filter) && (
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
