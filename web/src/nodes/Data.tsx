import { useState } from "react";
import { Opener } from "../kit/Opener";
import { Plain } from "../kit/visible";
import { exact } from "../kit/words";
import type { Data as DataNode } from "../values";
import type { NodeProps } from "./drawing";

const FIRST = 50;
const DEEPEST_OPEN = 2;
const LONGEST = 2000;

export function Data({ node }: NodeProps<DataNode>) {
  return (
    <div className="data">
      <Value value={node.value} depth={0} />
    </div>
  );
}

function Value({ value, depth }: { value: unknown; depth: number }) {
  if (typeof value === "string") return <Words text={value} />;
  if (value === null || typeof value !== "object") return <span className="data-plain">{String(value)}</span>;
  const entries = Object.entries(value);
  const list = Array.isArray(value);
  if (!entries.length) return <span className="faint">{list ? "[]" : "{}"}</span>;
  return <Entries entries={entries} list={list} depth={depth} />;
}

function Entries({ entries, list, depth }: { entries: [string, unknown][]; list: boolean; depth: number }) {
  const [open, setOpen] = useState(depth < DEEPEST_OPEN);
  const [shown, setShown] = useState(FIRST);
  const count = `${exact(entries.length)} ${list ? "items" : "fields"}`;
  return (
    <>
      {depth > 0 && (
        <Opener small open={open} onToggle={() => setOpen(!open)}>
          <span className="faint">{count}</span>
        </Opener>
      )}
      {open && (
        <ul>
          {entries.slice(0, shown).map(([name, value]) => (
            <li key={name}>
              <span className="data-name">
                <Plain text={name} />
              </span>{" "}
              <Value value={value} depth={depth + 1} />
            </li>
          ))}
          {entries.length > shown && (
            <li>
              <button type="button" className="more" onClick={() => setShown(shown * 10)}>
                all {count}
              </button>
            </li>
          )}
        </ul>
      )}
    </>
  );
}

function Words({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  const cut = text.length > LONGEST && !all;
  return (
    <span className="data-words">
      <Plain text={cut ? text.slice(0, LONGEST) : text} />
      {cut && (
        <button type="button" className="more" onClick={() => setAll(true)}>
          all {exact(text.length)} characters
        </button>
      )}
    </span>
  );
}
