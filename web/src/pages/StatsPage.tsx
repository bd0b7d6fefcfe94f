/** What sessions did: calls, failures, time and changed lines, over time and by group. */

import { useMemo, useState, type ReactNode } from "react";
import { useSource } from "../contexts";
import { ChipGroup } from "../kit/ChipGroup";
import { Caveats, isLowerBound } from "../kit/Figure";
import { duration, exact, money, plural, share, tokens } from "../kit/format";
import { useKeptScroll } from "../kit/keepScroll";
import { useCount } from "../kit/useAsync";
import { reportHref, type ReportRoute } from "../route";
import { Bar } from "../shell/Bar";
import { Empty, LoadError, Loading } from "../shell/PageStates";
import type { Report, ReportRow } from "../data/source";
import { AdviceList } from "./AdviceList";
import { ColumnChart, type ValueFormat } from "./ColumnChart";
import { columnsOf, durationTicks, lastDays, periodOf, PERIODS, wholeTicks, type Unit } from "./columns";
import { Failures } from "./Failures";
import { boundsOf, Counting, onlyOf, REPORT_FILTERS, ReportFilters, useGroups } from "./reportParts";
import { StatsTable, type StatsOnly } from "./StatsTable";
import { Total } from "./Total";
import { number } from "./usageChart";

export const GROUPS: [by: string, name: string][] = [
  ["tool", "Tool"],
  ["failure", "Failure"],
  ["state", "State"],
  ["file", "File"],
  ["skill", "Skill"],
  ["mcp_server", "MCP server"],
  ["agent_type", "Agent"],
  ["model", "Model"],
  ["project", "Project"],
  ["machine", "Machine"],
  ["person", "Person"],
];

/** A turn has no model of its own, and most figures are of turns. */
const FILTERS = REPORT_FILTERS.filter((name) => name !== "model");

interface Plot {
  name: string;
  series: [name: string, value: (row: ReportRow) => number, colour: string][];
  format: ValueFormat;
}

const counts = (noun: string): ValueFormat => ({ short: exact, exact: (value) => plural(value, noun), ticks: wholeTicks });

const PLOTS: Plot[] = [
  {
    name: "Calls",
    series: [
      ["done", (row) => number(row, "calls") - number(row, "failed") - number(row, "denied") - number(row, "interrupted"), "series-0"],
      ["failed", (row) => number(row, "failed"), "series-failed"],
      ["denied", (row) => number(row, "denied"), "series-stopped"],
      ["interrupted", (row) => number(row, "interrupted"), "series-5"],
    ],
    format: counts("call"),
  },
  {
    name: "Time",
    series: [
      ["model", (row) => number(row, "model_seconds"), "series-0"],
      ["tools", (row) => number(row, "tool_seconds"), "series-5"],
    ],
    format: { short: (value) => (value ? duration(value) : "0"), exact: duration, ticks: durationTicks },
  },
  {
    name: "Lines",
    series: [
      ["added", (row) => number(row, "lines_added"), "series-2"],
      ["removed", (row) => number(row, "lines_removed"), "series-failed"],
    ],
    format: counts("line"),
  },
];

export function StatsPage({ route }: { route: ReportRoute }) {
  const source = useSource();
  useKeptScroll();
  const choose = (changes: Record<string, string | null>) => location.assign(reportHref(route, changes));
  const period = periodOf(route.choices.period);
  const group = GROUPS.find(([by]) => by === route.choices.by) ?? (GROUPS[0] as (typeof GROUPS)[number]);
  const groups = useGroups(GROUPS.map(([by]) => by), group[0]);
  const plot = PLOTS.find(({ name }) => name === route.choices.plot) ?? (PLOTS[0] as Plot);
  const [attempt, setAttempt] = useState(0);
  const [days, , unit] = period;
  const [since] = lastDays(days);
  const only: StatsOnly = { since, ...onlyOf(route.choices, FILTERS) };
  const key = JSON.stringify(only);
  const loaded = useCount(`${key} ${unit} ${attempt}`, async () => ({ ...(await source.statsReport({ ...only, by: unit })), unit, days }));
  const table = useCount(`${key} ${group[0]} ${attempt}`, async () => ({ ...(await source.statsReport({ ...only, by: group[0] })), by: group[0], only }));
  const pending = loaded.state === "ready" && loaded.value.pending;
  return (
    <>
      <Bar page="stats" />
      <main className="usage" aria-busy={loaded.state === "ready" && (!loaded.isCurrent || Boolean(pending))}>
        <div className="usage-head">
          <h1>Statistics</h1>
          <div className="choices">
            <ChipGroup label="Period" options={PERIODS} value={period} name={([, name]) => name} onChoose={([, name]) => choose({ period: name })} />
            <ChipGroup label="Plot" options={PLOTS} value={plot} name={({ name }) => name} onChoose={({ name }) => choose({ plot: name })} />
            <ReportFilters only={only} names={FILTERS} onChange={choose} />
            {loaded.state === "ready" && !loaded.isCurrent && <Counting />}
          </div>
        </div>
        {loaded.state === "failed" && <LoadError error={loaded.error} onRetry={() => setAttempt(attempt + 1)} />}
        {loaded.state === "loading" && <Loading />}
        {loaded.state === "ready" && (
          <>
            {pending ? <p className="note counting">Counting: {plural(pending, "session")} left.</p> : null}
            <Overview report={loaded.value} days={loaded.value.days} unit={loaded.value.unit} plot={plot} route={route}>
              <Failures only={only} route={route} />
            </Overview>
            {loaded.value.rows.length > 0 && (
              <>
                <div className="usage-head">
                  <h2>By {group[1].toLowerCase()}</h2>
                  <ChipGroup label="Group" options={GROUPS.filter(([by]) => groups.includes(by))} value={group} name={([, name]) => name} onChoose={([by]) => choose({ by, open: null, state: null, all: null })} />
                  {!table.isCurrent && <Counting />}
                </div>
                {table.state === "failed" && <p className="note error">{table.error.message}</p>}
                {table.state === "ready" && (
                  <div aria-busy={!table.isCurrent}>
                    <StatsTable report={table.value} by={table.value.by} only={table.value.only} route={route} />
                  </div>
                )}
                {!pending && <AdviceList only={only} />}
              </>
            )}
          </>
        )}
      </main>
    </>
  );
}

interface OverviewProps {
  report: Report;
  days: number | null;
  unit: Unit;
  plot: Plot;
  route: ReportRoute;
  /** What stands before the chart. */
  children: ReactNode;
}

function Overview({ report, days, unit, plot, route, children }: OverviewProps) {
  const chart = useMemo(() => {
    const series = plot.series.filter(([, value], at) => at === 0 || report.rows.some((row) => value(row) > 0));
    const columns = columnsOf(report.rows, series.map(([name]) => name), {
      range: lastDays(days),
      unit,
      period: (row) => String(row[unit] ?? ""),
      values: (row) => series.map(([, value], at) => [at, value(row)]),
    });
    return { ...columns, colours: series.map(([, , colour]) => colour) };
  }, [report, days, unit, plot]);
  const { totals } = report;
  if (!report.rows.length && !report.pending) {
    return (
      <Empty title="Nothing happened in this period">
        <p>
          <a href={reportHref(route, { period: "All time" })}>All time</a>
        </p>
      </Empty>
    );
  }
  const total = (name: string) => number(totals, name);
  const bounds = boundsOf(report);
  return (
    <>
      <p className="usage-totals">
        <Total value={exact(total("calls"))} name="calls" />
        <a href={reportHref(route, { by: "state", open: "failed", state: null })}>
          <Total value={exact(total("failed"))} name="failed" />
        </a>
        <a href={reportHref(route, { by: "state", open: "denied", state: null })}>
          <Total value={exact(total("denied"))} name="denied" />
        </a>
        <Total value={exact(total("retries"))} name="retries" />
        <Total value={exact(total("turns"))} name={`turns in ${plural(report.sessions ?? 0, "session")}`} />
        <Total value={duration(total("model_seconds"))} name="model" />
        <Total value={duration(total("tool_seconds"))} name="tools" />
        <Total value={duration(total("waiting_seconds"))} name="waiting" />
        <Total value={exact(total("compactions"))} name={total("compactions") === 1 ? "compaction" : "compactions"} />
        <Total value={totals.cost_usd === null ? "?" : money(total("cost_usd"), isLowerBound(bounds))} name="cost" />
      </p>
      <Caveats figures={bounds} />
      <CacheBreaks report={report} />
      {children}
      <ColumnChart chart={chart} label={plot.name} format={plot.format} />
    </>
  );
}

/** How much had to be written to the cache again. */
function CacheBreaks({ report: { cache } }: { report: Report }) {
  if (!cache?.breaks) return null;
  const cost = cache.cost_usd === null ? "" : `, ${money(cache.cost_usd)} more than reading them`;
  return (
    <p className="note">
      {plural(cache.breaks, "cache break")}: {tokens(cache.tokens)} tokens written again ({share(cache.share)} of cache writes){cost}.{" "}
      <a href="#/usage">Usage</a> says why.
    </p>
  );
}
