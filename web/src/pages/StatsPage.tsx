/** What sessions did: calls, failures, time and changed lines, over time and by group. */

import { useMemo, type ReactNode, useState } from "react";
import { useSource } from "../contexts";
import { ChipGroup } from "../kit/ChipGroup";
import { duration, exact, plural } from "../kit/format";
import { useKeptScroll } from "../kit/keepScroll";
import { useCount } from "../kit/useAsync";
import { reportHref, type ReportRoute } from "../route";
import { Bar } from "../shell/Bar";
import { Empty, LoadError, Loading } from "../shell/PageStates";
import type { Report, ReportQuery, ReportRow } from "../data/source";
import { AdviceList } from "./AdviceList";
import { byServer, isServer, serverOf } from "./byServer";
import { ColumnChart, type ValueFormat } from "./ColumnChart";
import { columnsOf, durationTicks, lastDays, periodOf, PERIODS, wholeTicks, type Unit } from "./columns";
import { CountedCalls } from "./CountedCalls";
import { Failures } from "./Failures";
import { figureText, number } from "./figures";
import { Counting, onlyOf, ReportFilters, useGroups } from "./reportParts";
import { ReportNotes } from "./ReportNotes";
import { ReportTable } from "./ReportTable";
import { Total } from "./Total";

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

/** The reports of the page, which the filters have to narrow. */
const REPORTS = ["stats", "failures", "advice"];
/** How many groups the table has until all are asked for. */
const FIRST_GROUPS = 10;

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
  const only: ReportQuery = { since, ...onlyOf(route.choices) };
  const key = JSON.stringify(only);
  const loaded = useCount(`${key} ${unit} ${attempt}`, async () => ({ ...(await source.report<Report>("stats", { ...only, by: unit })), unit, days }));
  const table = useCount(`${key} ${group[0]} ${attempt}`, () => source.report<Report>("stats", { ...only, by: group[0] }));
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
            <ReportFilters only={onlyOf(route.choices)} reports={REPORTS} onChange={choose} />
            {loaded.state === "ready" && !loaded.isCurrent && <Counting />}
          </div>
        </div>
        {loaded.state === "failed" && <LoadError error={loaded.error} onRetry={() => setAttempt(attempt + 1)} />}
        {loaded.state === "loading" && <Loading />}
        {loaded.state === "ready" && (
          <>
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
                    <StatsTable report={table.value} only={only} route={route} />
                  </div>
                )}
                {!pending && <AdviceList only={only} route={route} />}
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
  if (!report.rows.length && !report.pending) {
    return (
      <Empty title="Nothing happened in this period">
        <p>
          <a href={reportHref(route, { period: "All time" })}>All time</a>
        </p>
      </Empty>
    );
  }
  const totals = { ...report.totals, lower_bound: Boolean(report.unconfirmed_responses) };
  return (
    <>
      <p className="usage-totals">
        {report.columns.map((column) => {
          const figure = <Total key={column.name} value={figureText(column, totals) || "0"} name={column.title.toLowerCase()} />;
          return column.state ? (
            <a key={column.name} href={reportHref(route, { by: "state", open: column.state, state: null })}>
              {figure}
            </a>
          ) : (
            figure
          );
        })}
      </p>
      <ReportNotes report={report} />
      {children}
      <ColumnChart chart={chart} label={plot.name} format={plot.format} />
    </>
  );
}

/** The figures of each group; a count opens the calls behind it. */
function StatsTable({ report, only, route }: { report: Report; only: ReportQuery; route: ReportRoute }) {
  const { open, state = null, all } = route.choices;
  const [by = "tool"] = report.by;
  const isOpen = (row: ReportRow) => open === (row[by] ?? "");
  return (
    <ReportTable
      label="Statistics table"
      report={report}
      rows={by === "tool" ? byServer(report.rows) : report.rows}
      calls={(row, counted) => {
        const listed = isOpen(row) && (counted || null) === state;
        if (row[by] === NO_CALL) return null;
        if (isServer(row)) return { href: reportHref(route, { by: "mcp_server", open: serverOf(row), state: counted || null }), open: false };
        return { href: reportHref(route, listed ? { open: null, state: null } : { open: String(row[by] ?? ""), state: counted || null }), open: listed };
      }}
      below={(row) => isOpen(row) && <CountedCalls query={{ ...only, by, group: row[by] as string | null, state }} />}
      most={{ count: FIRST_GROUPS, all: Boolean(all), href: reportHref(route, { all: all ? null : "1" }) }}
    />
  );
}

const NO_CALL = "(no call)";
