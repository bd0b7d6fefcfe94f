import { useMemo } from "react";
import { Lines } from "../kit/Lines";
import { settings } from "../kit/settings";
import { useVersion } from "../kit/store";
import { Plain } from "../kit/visible";
import type { Diff as DiffNode } from "../values";
import { inlineRows, pairRows, type DiffLine, type InlineRow, type PairRow } from "./diffRows";
import { useCut, type NodeProps } from "./drawing";

type Gap = { gap: true };

export function Diff({ node, place }: NodeProps<DiffNode>) {
  useVersion(settings);
  const { cut, whole } = useCut(place);
  const sides = settings.sideBySide;
  const rows = useMemo(() => joined(node.hunks.map((hunk): (InlineRow | PairRow)[] => (sides ? pairRows(hunk) : inlineRows(hunk)))), [node, sides]);
  return (
    <div className="diff-node">
      <div className="diff-bar">
        <button type="button" className="quiet" aria-pressed={sides} onClick={() => settings.toggleSides()}>
          {sides ? "inline" : "side by side"}
        </button>
      </div>
      <Lines
        className={sides ? "diff sides" : "diff"}
        count={rows.length}
        total={cut ? Math.max(cut.lines, rows.length) : undefined}
        place={place}
        label={`changes to ${node.path ?? "a file"}`}
        whole={whole}
        line={(index) => {
          const row = rows[index];
          if (!row) return null;
          if ("gap" in row) return <div className="gap" key={index} aria-label="lines left out" role="separator" />;
          return "sign" in row ? <Inline key={index} row={row} /> : <Pair key={index} row={row} />;
        }}
      />
    </div>
  );
}

function joined<T>(hunks: T[][]): (T | Gap)[] {
  return hunks.flatMap((rows, index) => (index ? [{ gap: true } as const, ...rows] : rows));
}

const NAMES = { " ": "same", "-": "removed", "+": "added" } as const;

function Inline({ row }: { row: InlineRow }) {
  return (
    <div className={`ln ${NAMES[row.sign]}`}>
      <span className="no" data-n={row.old ?? ""} />
      <span className="no" data-n={row.new ?? ""} />
      <Side line={row} />
    </div>
  );
}

function Pair({ row }: { row: PairRow }) {
  return (
    <div className="ln pair">
      <Half line={row.left} />
      <Half line={row.right} />
    </div>
  );
}

function Half({ line }: { line: DiffLine | null }) {
  if (!line) return <div className="half none" />;
  return (
    <div className={`half ${NAMES[line.sign]}`}>
      <span className="no" data-n={line.number} />
      <Side line={line} />
    </div>
  );
}

function Side({ line: { sign, text, changed } }: { line: DiffLine }) {
  const [from, to] = changed ?? [0, 0];
  return (
    <>
      <span className="sign" aria-label={sign === " " ? undefined : NAMES[sign]}>
        {sign}
      </span>
      <code>
        <Plain text={text.slice(0, from)} />
        {to > from && (
          <span className="changed">
            <Plain text={text.slice(from, to)} />
          </span>
        )}
        <Plain text={text.slice(to)} />
        {"\n"}
      </code>
    </>
  );
}
