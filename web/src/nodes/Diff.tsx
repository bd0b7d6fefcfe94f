import { useMemo } from "react";
import { Lines } from "../kit/Lines";
import { settings } from "../kit/settings";
import { useVersion } from "../kit/store";
import { LongText } from "../kit/LongText";
import type { Diff as DiffNode } from "../values";
import { inlineRows, pairRows, type DiffLine, type InlineRow, type PairRow } from "./diffRows";
import { useCut, type NodeProps } from "./nodeProps";

/** Longer pieces of a line are shown on request. */
const LONGEST = 5000;

type Gap = { gap: true };

export function Diff({ node, place }: NodeProps<DiffNode>) {
  useVersion(settings);
  const { cut, loadWhole } = useCut(place);
  const { sideBySide } = settings;
  const rows = useMemo(() => joinHunks(node.hunks.map((hunk): (InlineRow | PairRow)[] => (sideBySide ? pairRows(hunk) : inlineRows(hunk)))), [node, sideBySide]);
  return (
    <div className="diff-node">
      <div className="diff-bar">
        <button type="button" className="link-button" aria-pressed={sideBySide} onClick={() => settings.toggleSideBySide()}>
          {sideBySide ? "Inline" : "Side by side"}
        </button>
      </div>
      <Lines
        className={sideBySide ? "diff side-by-side" : "diff"}
        count={rows.length}
        total={cut ? Math.max(cut.lines, rows.length) : undefined}
        place={place}
        label={`changes to ${node.path ?? "a file"}`}
        loadWhole={loadWhole}
        text={() => node.hunks.flatMap(({ lines }) => lines).join("\n")}
        line={(index) => {
          const row = rows[index];
          if (!row) return null;
          if ("gap" in row) return <div className="hunk-gap" key={index} aria-label="unchanged lines" role="separator" />;
          return "sign" in row ? <Inline key={index} row={row} /> : <Pair key={index} row={row} />;
        }}
      />
    </div>
  );
}

function joinHunks<T>(hunks: T[][]): (T | Gap)[] {
  return hunks.flatMap((rows, index) => (index ? [{ gap: true } as const, ...rows] : rows));
}

const LABELS = { " ": "same", "-": "removed", "+": "added" } as const;

function Inline({ row }: { row: InlineRow }) {
  return (
    <div className={`line ${LABELS[row.sign]}`}>
      <span className="line-number" data-n={row.old ?? ""} />
      <span className="line-number" data-n={row.new ?? ""} />
      <Side line={row} />
    </div>
  );
}

function Pair({ row }: { row: PairRow }) {
  return (
    <div className="line pair">
      <Half line={row.left} />
      <Half line={row.right} />
    </div>
  );
}

function Half({ line }: { line: DiffLine | null }) {
  if (!line) return <div className="half empty" />;
  return (
    <div className={`half ${LABELS[line.sign]}`}>
      <span className="line-number" data-n={line.number} />
      <Side line={line} />
    </div>
  );
}

function Side({ line: { sign, text, changed } }: { line: DiffLine }) {
  const [from, to] = changed ?? [0, 0];
  return (
    <>
      <span className="sign" aria-label={sign === " " ? undefined : LABELS[sign]}>
        {sign}
      </span>
      <code>
        <LongText text={text.slice(0, from)} first={LONGEST} />
        {to > from && (
          <span className="changed">
            <LongText text={text.slice(from, to)} first={LONGEST} />
          </span>
        )}
        <LongText text={text.slice(to)} first={LONGEST} />
        {"\n"}
      </code>
    </>
  );
}
