/** What a report says about its figures, in the words of the command line. */

import { PlainText } from "../kit/PlainText";
import type { Report } from "../data/source";

interface Props {
  report: Pick<Report, "notes">;
  /** Only what is loud, or all else. */
  style?: "loud" | "plain";
}

export function ReportNotes({ report, style: wanted }: Props) {
  const notes = report.notes.filter(({ style }) => wanted === undefined || (wanted === "loud") === (style === "loud"));
  return notes.map(({ style, text }) => (
    <p key={text} className={style === "loud" ? "note warning" : "note"}>
      <WithCode text={text} />
    </p>
  ));
}

/** A text in which what stands between backticks is code. */
export const WithCode = ({ text }: { text: string }) =>
  text.split("`").map((piece, at, pieces) => (at % 2 && at < pieces.length - 1 ? <PlainText key={at} as="code" text={piece} /> : <PlainText key={at} text={at % 2 ? `\`${piece}` : piece} />));
