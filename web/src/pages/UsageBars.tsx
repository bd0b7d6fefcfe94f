/** Where it went: a bar for each group, which leads to its sessions. */

import { money, plural, share, tokens } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import { listHref, type Filters } from "../route";
import type { ReportRow } from "../data/source";
import type { Range } from "./columns";
import { passes } from "./libraryFilters";
import { useLibraryRows } from "./listState";
import { REPORT_FILTERS, type ReportOnly } from "./reportParts";
import { groupName, measureOf, type Group, type Measure } from "./usageChart";

interface Props {
  rows: ReportRow[];
  group: Group;
  measure: Measure;
  /** The sum of all groups, also of those that have no bar. */
  total: number;
  range: Range;
  only: ReportOnly;
}

export function UsageBars({ rows, group, measure, total, range, only }: Props) {
  const sessions = useLibraryRows();
  const most = Math.max(...rows.map((row) => measureOf(row, measure)), 0);
  return (
    <ol className="bars">
      {rows.map((row, index) => {
        const value = measureOf(row, measure);
        const filters = filtersOf(row, group, range, only);
        const count = filters && group !== "tool" ? sessions.filter((session) => passes(session, filters)).length : 0;
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
              <span className="num muted">{total > 0 ? share(value / total) : ""}</span>
              <span className="num muted bar-sessions">{count > 0 && plural(count, "session")}</span>
            </a>
          </li>
        );
      })}
    </ol>
  );
}

/** The address of the sessions of a group; null if the group has no name. */
export function sessionsHref(row: ReportRow, group: Group, range: Range, only: ReportOnly): string | null {
  const filters = filtersOf(row, group, range, only);
  return filters && listHref({ filter: group === "tool" ? `tool:${String(row.tool)}` : "", only: filters });
}

/** What the list is narrowed to for the sessions of a group. */
function filtersOf(row: ReportRow, group: Group, [from, to]: Range, only: ReportOnly): Filters | null {
  const value = row[group];
  if (value === null || value === undefined || value === "" || value === "(no call)" || (group === "agent_type" && value === "main")) return null;
  const filters: Filters = from ? { from, to } : {};
  for (const name of REPORT_FILTERS) if (only[name]) filters[name] = name === "model" ? groupName({ model: only.model ?? "" }, "model") : only[name];
  if (group !== "tool") filters[group === "agent_type" ? "agent" : group] = group === "model" ? groupName(row, group) : String(value);
  return filters;
}
