/** A report as a table: a row for each group, with the columns that the report declares, and their totals. */

import { Fragment, type ReactNode } from "react";
import { FigureHead } from "../kit/FigureHead";
import { capitalized, exact, folder, plural, share as shareText } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import { listHref, sessionHref } from "../route";
import type { CountedCall, Report, ReportColumn, ReportRow } from "../data/source";
import { callTime, figureText, figureTitle, groupName, number, valueOf } from "./figures";

interface Props {
  label: string;
  report: Report;
  /** Other rows than those of the report, such as their sums. */
  rows?: ReportRow[];
  /** Other groups than those of the report. */
  by?: string[];
  /** Only these columns, in this order. */
  columns?: string[] | undefined;
  /** The column that comes first, with the share of each row. */
  main?: string | undefined;
  /** The address that the name of a row leads to. */
  href?(row: ReportRow): string | null;
  /** The address of the calls behind a count, and whether they are listed. */
  calls?(row: ReportRow, state: string): { href: string; open: boolean } | null;
  /** What is listed below a row. */
  below?(row: ReportRow): ReactNode;
  /** How many rows there are until all are asked for, and the addresses that show all and only those. */
  most?: { count: number; all: boolean; href: string };
}

export function ReportTable({ label, report, rows = report.rows, by = report.by, columns, main, href, calls, below, most }: Props) {
  const shown = ordered(report.columns, columns, main).filter((column) => column.name === main || isText(column) || rows.some((row) => valueOf(column, row)));
  const total = main === undefined ? 0 : number(report.totals, main);
  const cells = (row: ReportRow, links = calls) =>
    shown.map((column) => (
      <Fragment key={column.name}>
        <td className={isText(column) ? undefined : "num"} title={figureTitle(column, row)}>
          <Cell column={column} row={row} calls={links} />
        </td>
        {column.name === main && <td className="num muted">{total > 0 && row[main] !== null ? shareText(number(row, main) / total) : ""}</td>}
      </Fragment>
    ));
  const first = most && !most.all ? rows.filter((row, at) => at < most.count || below?.(row)) : rows;
  const heads = shown.flatMap((column) => (column.name === main ? [column.title, "Share"] : [column.title]));
  const lefts = new Set(shown.filter(isText).map(({ title }) => title));
  return (
    <>
      <div className="scrolls" tabIndex={0} role="region" aria-label={label}>
        <table className="figures">
          <FigureHead group={capitalized(by.join(", ").replaceAll("_", " "))} figures={heads} lefts={lefts} />
          <tbody>
            {first.map((row) => {
              const open = below?.(row);
              return (
                <Fragment key={by.map((name) => row[name]).join("\n")}>
                  <tr>
                    <Name row={row} by={by} report={report} href={href?.(row) ?? null} />
                    {cells(row)}
                  </tr>
                  {open && (
                    <tr>
                      <td colSpan={heads.length + 1}>{open}</td>
                    </tr>
                  )}
                </Fragment>
              );
            })}
          </tbody>
          {rows.length > 1 && !columns && shown.every((column) => !isText(column)) && (
            <tfoot>
              <tr>
                <th scope="row">Total</th>
                {cells(report.totals, () => null)}
              </tr>
            </tfoot>
          )}
        </table>
      </div>
      {most && <ShowAll {...most} rows={rows.length} />}
    </>
  );
}

/** A link that shows all of some rows, or only the first again. */
export const ShowAll = ({ count, all, href, rows }: { count: number; all: boolean; href: string; rows: number }) =>
  rows > count && (
    <p>
      <a className="show-more" href={href}>
        {all ? `Only the first ${count}` : `All ${exact(rows)}`}
      </a>
    </p>
  );

const TEXT_KINDS = new Set(["project", "time", "call"]);
const isText = ({ kind }: ReportColumn): boolean => TEXT_KINDS.has(kind);

function ordered(columns: ReportColumn[], names: string[] | undefined, main: string | undefined): ReportColumn[] {
  const wanted = names ? names.flatMap((name) => columns.find((column) => column.name === name) ?? []) : columns;
  return main === undefined ? wanted : [...wanted.filter(({ name }) => name === main), ...wanted.filter(({ name }) => name !== main)];
}

function Name({ row, by, report, href }: { row: ReportRow; by: string[]; report: Report; href: string | null }) {
  const [first = "", ...others] = by;
  const name = groupName(first, row, report);
  const listed = first === "session" ? report.sessions_by_id?.[String(row.session)] : undefined;
  const address = href ?? (listed ? sessionHref({ session: listed.key }) : null);
  const text = <PlainText text={name} />;
  return (
    <th scope="row" className="group" title={visible(by.map((one) => String(row[one] ?? "")).join(": "))}>
      {address ? <a href={address}>{text}</a> : text}
      {listed && <PlainText className="muted" text={` ${listed.project.split(/[\\/]/).at(-1) ?? ""}`} />}
      {others.map((one) => (
        <Fragment key={one}>
          {" "}
          <PlainText className="muted" text={groupName(one, row, report)} />
        </Fragment>
      ))}
    </th>
  );
}

function Cell({ column, row, calls }: { column: ReportColumn; row: ReportRow; calls: Props["calls"] }): ReactNode {
  if (column.kind === "project") {
    const project = String(row.project ?? "");
    return (
      <a href={listHref({ only: { project } })} title={`${exact(number(row, "there"))} of ${exact(number(row, "failed"))}, in ${plural(number(row, "sessions"), "session")}`}>
        <PlainText text={folder(project)} />
      </a>
    );
  }
  if (column.kind === "call") {
    const call = row[column.name] as unknown as CountedCall;
    return call.key === null ? callTime(call) : <a href={sessionHref({ session: call.key, agent: call.agent ?? undefined }, { call: call.id })}>{callTime(call)}</a>;
  }
  const text = figureText(column, row);
  const listed = column.state !== undefined && valueOf(column, row) ? calls?.(row, column.state) : null;
  if (!listed) return text;
  return (
    <a href={listed.href} aria-expanded={listed.open} title={listed.open ? "Hide these calls" : "List these calls"}>
      {text}
    </a>
  );
}
