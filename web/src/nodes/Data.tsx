import { useState } from "react";
import { DisclosureButton } from "../kit/DisclosureButton";
import { PlainText } from "../kit/PlainText";
import { exact, plural } from "../kit/format";
import type { Data as DataNode } from "../data/values";
import type { NodeProps } from "./nodeProps";

const FIRST = 50;
/** Values nested deeper than this are collapsed. */
const OPEN_DEPTH = 2;
const LONGEST = 2000;
/** A list of words or numbers no longer than this is one paragraph. */
const WORD = 60;

export function Data({ node }: NodeProps<DataNode>) {
  return (
    <div className="data">
      <Value value={node.value} depth={0} />
    </div>
  );
}

function Value({ value, depth }: { value: unknown; depth: number }) {
  if (typeof value === "string") return <StringValue text={value} />;
  if (value === null || typeof value !== "object") return <span className="data-plain">{String(value)}</span>;
  const entries = Object.entries(value);
  const list = Array.isArray(value);
  if (!entries.length) return <span className="muted">{list ? "[]" : "{}"}</span>;
  if (depth > 0 && list && entries.length <= FIRST && value.every(isWord)) return <StringValue text={value.join(", ")} />;
  return <Entries entries={entries} list={list} depth={depth} />;
}

const isWord = (value: unknown): boolean =>
  typeof value === "number" || (typeof value === "string" && value.length <= WORD && /^[^\s,][^\n,]*$/.test(value));

function Entries({ entries, list, depth }: { entries: [string, unknown][]; list: boolean; depth: number }) {
  const [open, setOpen] = useState(depth < OPEN_DEPTH);
  const [shown, setShown] = useState(FIRST);
  const count = plural(entries.length, list ? "item" : "field");
  return (
    <>
      {depth > 0 && (
        <DisclosureButton small open={open} onToggle={() => setOpen(!open)}>
          <span className="muted">{count}</span>
        </DisclosureButton>
      )}
      {open && (
        <ul>
          {entries.slice(0, shown).map(([name, value]) => (
            <li key={name}>
              <PlainText className="data-name" text={name} />{" "}
              <Value value={value} depth={depth + 1} />
            </li>
          ))}
          {entries.length > shown && (
            <li>
              <button type="button" className="show-more" onClick={() => setShown(shown * 10)}>
                Show all {count}
              </button>
            </li>
          )}
        </ul>
      )}
    </>
  );
}

function StringValue({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  const cut = text.length > LONGEST && !all;
  return (
    <span className="data-text">
      <PlainText text={cut ? text.slice(0, LONGEST) : text} />
      {cut && (
        <button type="button" className="show-more" onClick={() => setAll(true)}>
          Show all {exact(text.length)} characters
        </button>
      )}
    </span>
  );
}
