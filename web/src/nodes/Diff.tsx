import { useMemo, type ReactNode } from "react";
import type { Token } from "../kit/highlighter";
import { Lines } from "../kit/Lines";
import { settings } from "../kit/settings";
import { useVersion } from "../kit/store";
import { LongText } from "../kit/LongText";
import { PlainText } from "../kit/PlainText";
import { useTokens } from "../kit/useTokens";
import type { Diff as DiffNode, Hunk } from "../data/values";
import { inlineRows, pairRows, sides, type DiffLine, type InlineRow, type PairRow } from "./diffRows";
import { useCut, type NodeProps } from "./nodeProps";

/** Longer pieces of a line are shown on request. */
const LONGEST = 5000;

type Row = { hunk: number } & (InlineRow | PairRow);
type Gap = { gap: true };
/** Finds the syntax colours of a line; null if it has none. */
type Colours = (line: DiffLine) => Token[] | null;

interface Props extends NodeProps<DiffNode> {
  /** What stands left of a line, by its number after the change. */
  margin?(line: number | null): ReactNode;
  /** Which change it is, if there are several of one file. */
  of?: string;
}

export function Diff({ node, place, margin, of }: Props) {
  useVersion(settings);
  const { cut, loadWhole } = useCut(place);
  const { sideBySide } = settings;
  const rows = useMemo(() => joinHunks(node.hunks.map((hunk, at) => hunkRows(hunk, at, sideBySide))), [node, sideBySide]);
  const texts = useMemo(() => node.hunks.flatMap(sides), [node]);
  const tokens = useTokens(texts, extension(node.path));
  const coloursOf =
    (hunk: number): Colours =>
    ({ sign, at, text }) => {
      const found = tokens?.[hunk * 2 + (sign === "-" ? 0 : 1)]?.[at];
      return found && text.length <= LONGEST && found.map((token) => token.text).join("") === text ? found : null;
    };
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
        label={`changes to ${node.path ?? "a file"}${of ? ` in ${of}` : ""}`}
        loadWhole={loadWhole}
        text={() => node.hunks.flatMap(({ lines }) => lines).join("\n")}
        line={(index) => {
          const row = rows[index];
          if (!row) return null;
          if ("gap" in row) return <div className="hunk-gap" key={index} aria-label="unchanged lines" role="separator" />;
          const colours = coloursOf(row.hunk);
          const added = "sign" in row ? (row.sign === "+" ? row.new : null) : row.right?.sign === "+" ? row.right.number : null;
          return (
            <div key={index} className={"sign" in row ? `line ${LABELS[row.sign]}` : "line pair"}>
              {margin && <span className="line-margin">{margin(added)}</span>}
              {"sign" in row ? <Inline row={row} colours={colours} /> : <Pair row={row} colours={colours} />}
            </div>
          );
        }}
      />
    </div>
  );
}

function hunkRows(hunk: Hunk, at: number, sideBySide: boolean): Row[] {
  const rows: (InlineRow | PairRow)[] = sideBySide ? pairRows(hunk) : inlineRows(hunk);
  return rows.map((row) => ({ ...row, hunk: at }));
}

function joinHunks(hunks: Row[][]): (Row | Gap)[] {
  return hunks.flatMap((rows, index) => (index ? [{ gap: true } as const, ...rows] : rows));
}

/** The extension of a path, which the highlighter knows most languages by. */
function extension(path: string | null): string | null {
  return /\.(\w{1,12})$/.exec(path?.slice(-20) ?? "")?.[1] ?? null;
}

const LABELS = { " ": "same", "-": "removed", "+": "added" } as const;

function Inline({ row, colours }: { row: InlineRow; colours: Colours }) {
  return (
    <>
      <span className="line-number" data-n={row.old ?? ""} />
      <span className="line-number" data-n={row.new ?? ""} />
      <Side line={row} tokens={colours(row)} />
    </>
  );
}

function Pair({ row, colours }: { row: PairRow; colours: Colours }) {
  return (
    <>
      <Half line={row.left} colours={colours} />
      <Half line={row.right} colours={colours} />
    </>
  );
}

function Half({ line, colours }: { line: DiffLine | null; colours: Colours }) {
  if (!line) return <div className="half empty" />;
  return (
    <div className={`half ${LABELS[line.sign]}`}>
      <span className="line-number" data-n={line.number} />
      <Side line={line} tokens={colours(line)} />
    </div>
  );
}

function Side({ line: { sign, text, changed }, tokens }: { line: DiffLine; tokens: Token[] | null }) {
  const [from, to] = changed ?? [0, 0];
  return (
    <>
      <span className="sign" aria-label={sign === " " ? undefined : LABELS[sign]}>
        {sign}
      </span>
      <code>
        <Piece text={text} tokens={tokens} from={0} to={from} />
        {to > from && (
          <span className="changed">
            <Piece text={text} tokens={tokens} from={from} to={to} />
          </span>
        )}
        <Piece text={text} tokens={tokens} from={to} to={text.length} />
        {"\n"}
      </code>
    </>
  );
}

/** A slice of a line, in its syntax colours. */
function Piece({ text, tokens, from, to }: { text: string; tokens: Token[] | null; from: number; to: number }) {
  if (!tokens) return <LongText text={text.slice(from, to)} first={LONGEST} />;
  let end = 0;
  return tokens.map((token, at) => {
    const start = end;
    end += token.text.length;
    const shown = token.text.slice(Math.max(0, from - start), Math.max(0, to - start));
    return (
      shown && <PlainText key={at} className={token.kind || undefined} text={shown} />
    );
  });
}
