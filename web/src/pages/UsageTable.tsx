/** The figures beneath the chart. */

import { exact, exactMoney, money } from "../kit/words";
import type { UsageRow } from "../source";
import { groupName, type Group } from "./series";

interface Props {
  rows: UsageRow[];
  unit: string;
  group: Group;
}

const written = (row: UsageRow): number => Number(row.cache_write_5m_tokens ?? 0) + Number(row.cache_write_1h_tokens ?? 0);

const COLUMNS: [name: string, value: (row: UsageRow) => number][] = [
  ["responses", (row) => Number(row.responses ?? 0)],
  ["input", (row) => Number(row.input_tokens ?? 0)],
  ["cache written", written],
  ["cache read", (row) => Number(row.cache_read_tokens ?? 0)],
  ["output", (row) => Number(row.output_tokens ?? 0)],
];

export function UsageTable({ rows, unit, group }: Props) {
  const sorted = rows.toSorted((a, b) => String(b[unit]).localeCompare(String(a[unit])));
  return (
    <div className="scrolls" tabIndex={0} role="region" aria-label="figures">
      <table className="figures">
        <thead>
          <tr>
            <th scope="col">{unit}</th>
            <th scope="col">{group}</th>
            {COLUMNS.map(([name]) => (
              <th key={name} scope="col" className="num">
                {name}
              </th>
            ))}
            <th scope="col" className="num">
              cost
            </th>
          </tr>
        </thead>
        <tbody>
          {sorted.map((row, index) => (
            <tr key={index}>
              <td>{sorted[index - 1]?.[unit] === row[unit] ? "" : row[unit]}</td>
              <td title={String(row[group] ?? "")}>{groupName(row, group)}</td>
              {COLUMNS.map(([name, value]) => (
                <td key={name} className="num">
                  {exact(value(row))}
                </td>
              ))}
              <td className="num" title={row.cost_usd === null ? "not priced" : exactMoney(Number(row.cost_usd))}>
                {row.cost_usd === null ? "–" : money(Number(row.cost_usd))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
