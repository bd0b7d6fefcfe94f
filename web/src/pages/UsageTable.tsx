/** The figures below the chart: by group, or by period. */

import { exact, exactMoney, money, share } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import type { ReportRow } from "../data/source";
import { FigureTable } from "./FigureTable";
import { number } from "./usageChart";

type Column = [name: string, value: (row: ReportRow) => number];

const RESPONSE_COLUMNS: Column[] = [
  ["Responses", (row) => number(row, "responses")],
  ["Input", (row) => number(row, "input_tokens")],
  ["Cache write", (row) => number(row, "cache_write_5m_tokens") + number(row, "cache_write_1h_tokens")],
  ["Cache read", (row) => number(row, "cache_read_tokens")],
  ["Output", (row) => number(row, "output_tokens")],
];
const CALL_COLUMNS: Column[] = [
  ["Calls", (row) => number(row, "calls")],
  ["Failed", (row) => number(row, "failed")],
  ["Denied", (row) => number(row, "denied")],
];

interface Props {
  label: string;
  rows: ReportRow[];
  totals: ReportRow;
  /** True if the rows count calls, not responses. */
  calls?: boolean;
  name(row: ReportRow): string;
  /** What the name is short for. */
  title?(row: ReportRow): string;
  /** The address with the figures of one row. */
  href?(row: ReportRow): string | null;
}

export function UsageTable({ label, rows, totals, calls = false, name, title, href }: Props) {
  const columns = calls ? CALL_COLUMNS : RESPONSE_COLUMNS;
  const total = number(totals, "cost_usd");
  const figures = (row: ReportRow) => (
    <>
      <td className="num" title={row.cost_usd === null ? "No price for this model" : exactMoney(number(row, "cost_usd"))}>
        {row.cost_usd === null ? "–" : money(number(row, "cost_usd"))}
      </td>
      <td className="num muted">{total > 0 && row.cost_usd !== null ? share(number(row, "cost_usd") / total) : ""}</td>
      {columns.map(([column, value]) => (
        <td key={column} className="num">
          {exact(value(row))}
        </td>
      ))}
    </>
  );
  return (
    <FigureTable
      label={`Usage by ${label}`}
      group={label}
      figures={["Cost", "Share", ...columns.map(([column]) => column)]}
      rows={rows}
      totals={totals}
      title={title}
      name={(row) => {
        const address = href?.(row) ?? null;
        return address ? <a href={address}>{name(row)}</a> : <PlainText text={name(row)} />;
      }}
      cells={figures}
    />
  );
}
