/** The figures below the chart. */

import { capitalized, exact, exactMoney, money } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import type { UsageRow } from "../source";
import type { Unit } from "./columns";
import { groupName, type Group } from "./usageChart";

interface Props {
  rows: UsageRow[];
  unit: Unit;
  group: Group;
}

const cacheWrites = (row: UsageRow): number =>
  Number(row.cache_write_5m_tokens ?? 0) + Number(row.cache_write_1h_tokens ?? 0);

const COLUMNS: [name: string, value: (row: UsageRow) => number][] = [
  ["Responses", (row) => Number(row.responses ?? 0)],
  ["Input", (row) => Number(row.input_tokens ?? 0)],
  ["Cache write", cacheWrites],
  ["Cache read", (row) => Number(row.cache_read_tokens ?? 0)],
  ["Output", (row) => Number(row.output_tokens ?? 0)],
];

export function UsageTable({ rows, unit, group }: Props) {
  const sorted = rows.toSorted((a, b) => String(b[unit]).localeCompare(String(a[unit])));
  return (
    <div className="scrolls" tabIndex={0} role="region" aria-label="Usage table">
      <table className="figures">
        <thead>
          <tr>
            <th scope="col">{capitalized(unit)}</th>
            <th scope="col">{capitalized(group)}</th>
            <th scope="col" className="num">
              Cost
            </th>
            {COLUMNS.map(([name]) => (
              <th key={name} scope="col" className="num">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row, index) => (
            <tr key={index}>
              <td>{sorted[index - 1]?.[unit] === row[unit] ? "" : row[unit]}</td>
              <td className="group" title={visible(String(row[group] ?? ""))}>
                <PlainText text={groupName(row, group)} />
              </td>
              <td className="num" title={row.cost_usd === null ? "No price for this model" : exactMoney(Number(row.cost_usd))}>
                {row.cost_usd === null ? "–" : money(Number(row.cost_usd))}
              </td>
              {COLUMNS.map(([name, value]) => (
                <td key={name} className="num">
                  {exact(value(row))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
