/** Where it went: a bar for each group, which leads to its sessions. */

import { money, tokens } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import { listHref, type Filters } from "../route";
import type { UsageRow } from "../data/source";
import type { Range } from "./columns";
import { groupName, measureOf, type Group, type Measure } from "./usageChart";

interface Props {
  rows: UsageRow[];
  group: Group;
  measure: Measure;
  /** The sum of all groups, also of those that have no bar. */
  total: number;
  range: Range;
  only: Filters;
}

export function UsageBars({ rows, group, measure, total, range, only }: Props) {
  const most = Math.max(...rows.map((row) => measureOf(row, measure)), 0);
  return (
    <ol className="bars">
      {rows.map((row, index) => {
        const value = measureOf(row, measure);
        return (
          <li key={index}>
            <a href={sessionsHref(row, group, range, only) ?? undefined} title={visible(String(row[group] ?? ""))}>
              <span className="front bar-name">
                <bdi dir="ltr">
                  <PlainText text={groupName(row, group)} />
                </bdi>
              </span>
              <span className="bar-space" aria-hidden="true">
                <svg width="100%" height="12" preserveAspectRatio="none" viewBox="0 0 100 12">
                  <rect className={`series-${Math.min(index, 5)}`} width={most ? (value / most) * 100 : 0} height="12" />
                </svg>
              </span>
              <span className="num">{measure === "cost" ? (row.cost_usd === null ? "–" : money(value)) : tokens(value)}</span>
              <span className="num muted">{total > 0 ? `${Math.round((value / total) * 100)} %` : ""}</span>
            </a>
          </li>
        );
      })}
    </ol>
  );
}

/** The address of the sessions of a group; null if the group has no name. */
export function sessionsHref(row: UsageRow, group: Group, [from, to]: Range, only: Filters): string | null {
  const value = row[group];
  if (value === null || value === undefined || value === "" || value === "(no call)") return null;
  const days: Filters = { ...(from ? { from } : {}), to };
  const rest: Filters = { ...(only.project ? { project: only.project } : {}), ...(only.model ? { model: groupName({ model: only.model }, "model") } : {}) };
  if (group === "tool") return listHref({ filter: `tool:${String(value)}`, only: { ...rest, ...days } });
  if (group === "agent_type") return value === "main" ? null : listHref({ only: { ...rest, agent: String(value), ...days } });
  return listHref({ only: { ...rest, [group]: group === "model" ? groupName(row, group) : String(value), ...days } });
}
