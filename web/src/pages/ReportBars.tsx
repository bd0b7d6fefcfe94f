/** A report as bars: one for each group, as long as its part of the largest. */

import type { ReactNode } from "react";
import { PlainText, visible } from "../kit/PlainText";
import type { Report, ReportRow } from "../data/source";
import { groupName } from "./figures";

interface Props {
  report: Report;
  rows?: ReportRow[];
  by?: string;
  value(row: ReportRow): number;
  text(row: ReportRow): string;
  /** The class of a bar's colour. */
  colour(row: ReportRow, at: number): string;
  /** The address of what a bar is about. */
  href?(row: ReportRow): string | null;
  /** What else is said of a group. */
  more?(row: ReportRow): ReactNode;
  /** The class of a bar, and what is listed below it. */
  className?(row: ReportRow): string | undefined;
  below?(row: ReportRow): ReactNode;
}

export function ReportBars({ report, rows = report.rows, by = report.by[0] ?? "", value, text, colour, href, more, className, below }: Props) {
  const most = Math.max(...rows.map(value), 0);
  return (
    <ol className="bars">
      {rows.map((row, at) => {
        const name = <PlainText text={groupName(by, row, report)} />;
        const cells = (
          <>
            <span className="front bar-name"><bdi dir="ltr">{name}</bdi></span>
            <span className="bar-space" aria-hidden="true">
              <svg width="100%" height="12" preserveAspectRatio="none" viewBox="0 0 100 12">
                <rect className={colour(row, at)} width={most ? (value(row) / most) * 100 : 0} height="12" />
              </svg>
            </span>
            <span className="num">{text(row)}</span>
            {more?.(row)}
          </>
        );
        const address = href?.(row);
        const open = below?.(row);
        return (
          <li key={at} className={className?.(row)}>
            {address ? (
              <a href={address} title={visible(String(row[by] ?? ""))} aria-expanded={below && Boolean(open)}>
                {cells}
              </a>
            ) : (
              <div>{cells}</div>
            )}
            {open && <div className="below-bar">{open}</div>}
          </li>
        );
      })}
    </ol>
  );
}
