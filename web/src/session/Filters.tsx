/** How much is shown: the density, and filters for prompts, text, thinking, calls of a tool and errors. On a scrolled page the line has the title, the turn and the links of the header. */

import { useLayoutEffect, useRef, useState, type ReactNode, type RefObject } from "react";
import { useThreadStore } from "../contexts";
import { NO_FILTER, isEmpty } from "../search/filter";
import { ChipGroup } from "../kit/ChipGroup";
import { capitalized, exact, plural } from "../kit/format";
import { visible } from "../kit/PlainText";
import { DENSITIES, type Density } from "../kit/settings";
import type { Filter } from "../data/source";
import { CurrentTurn } from "./CurrentTurn";
import { HeadLinks } from "./SessionHead";
import type { FilteredItems } from "./useFiltered";

const KINDS: [kind: string, label: string][] = [
  ["prompts", "Prompts"],
  ["text", "Text"],
  ["thinking", "Thinking"],
];

/** The width at which everything fits on one line, in pixels. */
const ONE_LINE = 860;

interface Props {
  density: Density;
  onDensity(density: Density): void;
  filter: Filter;
  onChange(filter: Filter): void;
  filtered: FilteredItems;
}

export function Filters({ density, onDensity, filter, onChange, filtered }: Props) {
  const line = useRef<HTMLDivElement>(null);
  const { compact, stuck } = useLine(line);
  const [open, setOpen] = useState(false);
  const folded = compact || stuck;
  const densities = <ChipGroup label="Density" options={DENSITIES} value={density} name={capitalized} onChoose={onDensity} />;
  return (
    <div ref={line} className={`filters${folded ? " compact" : ""}${stuck ? " stuck" : ""}`}>
      {stuck ? <CurrentTurn /> : densities}
      {stuck && (
        <p className="head-actions">
          <HeadLinks />
        </p>
      )}
      {folded && (
        <button type="button" className={isEmpty(filter) ? "chip" : "chip on"} aria-expanded={open} onClick={() => setOpen(!open)}>
          Filter
        </button>
      )}
      {(open || !folded) && (
        <ShowOnly filter={filter} onChange={onChange} filtered={filtered}>
          {stuck && densities}
        </ShowOnly>
      )}
    </div>
  );
}

function ShowOnly({ filter, onChange, filtered, children }: Pick<Props, "filter" | "onChange" | "filtered"> & { children: ReactNode }) {
  const { overview } = useThreadStore();
  const tools = Object.entries(overview.tools).sort(([, a], [, b]) => b - a);
  const toggle = (kind: string) => {
    const kinds = filter.kinds.includes(kind) ? filter.kinds.filter((other) => other !== kind) : [...filter.kinds, kind];
    onChange({ ...filter, kinds });
  };
  const chooseTool = (name: string) => {
    const kinds = filter.kinds.filter((kind) => kind !== "tools");
    const all = name === "*";
    onChange({ ...filter, kinds: all ? [...kinds, "tools"] : kinds, tools: name && !all ? [name] : [] });
  };
  return (
    <div className="show-only">
      {children}
      <span className="filter-chips" role="group" aria-label="Show only">
        <span className="muted">Show only</span>
        {KINDS.map(([kind, label]) => (
          <button
            key={kind}
            type="button"
            className="chip"
            aria-pressed={filter.kinds.includes(kind)}
            onClick={() => toggle(kind)}
          >
            {label}
          </button>
        ))}
        {tools.length > 0 && (
          <select
            className={filter.tools.length || filter.kinds.includes("tools") ? "chip on" : "chip"}
            aria-label="Tool calls"
            value={filter.tools[0] ?? (filter.kinds.includes("tools") ? "*" : "")}
            onChange={(event) => chooseTool(event.target.value)}
          >
            <option value="">Tool calls</option>
            <option value="*">All tool calls</option>
            {tools.map(([name, count]) => (
              <option key={name} value={name}>
                {visible(name)} {exact(count)}
              </option>
            ))}
          </select>
        )}
        {overview.errors !== null && overview.errors > 0 && (
          <button
            type="button"
            className="chip"
            aria-pressed={filter.errors}
            onClick={() => onChange({ ...filter, errors: !filter.errors })}
          >
            {plural(overview.errors, "error")}
          </button>
        )}
      </span>
      {!isEmpty(filter) && (
        <>
          <span className="muted num" role="status">
            {plural(filtered.indices.length, "message")}
            {!filtered.done && "…"}
          </span>
          <button type="button" className="link-button" onClick={() => onChange(NO_FILTER)}>
            Show all
          </button>
        </>
      )}
    </div>
  );
}

/** Whether the line is too narrow for all filters, and whether it sticks to the bar because the page is scrolled. */
function useLine(element: RefObject<HTMLElement | null>): { compact: boolean; stuck: boolean } {
  const [compact, setCompact] = useState(false);
  const [stuck, setStuck] = useState(false);
  useLayoutEffect(() => {
    const line = element.current;
    const head = line?.previousElementSibling;
    if (!line || !head) return;
    const scrolled = () => setStuck(line.getBoundingClientRect().top - head.getBoundingClientRect().bottom > 1);
    const resized = () => {
      setCompact(head.clientWidth < ONE_LINE);
      scrolled();
    };
    const observer = new ResizeObserver(resized);
    observer.observe(head);
    resized();
    addEventListener("scroll", scrolled, { passive: true });
    return () => {
      observer.disconnect();
      removeEventListener("scroll", scrolled);
    };
  }, [element]);
  return { compact, stuck };
}
