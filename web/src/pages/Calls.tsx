/** What fails? Calls, failures, time and changed lines, over time and by group. */

import { useMemo, useState } from "react";
import { useSource } from "../contexts";
import { ChipGroup } from "../kit/ChipGroup";
import { duration, exact, plural } from "../kit/format";
import { useCount } from "../kit/useAsync";
import { reportHref, type ReportRoute } from "../route";
import { LoadError, Loading } from "../shell/PageStates";
import type { Report, ReportQuery, ReportRow } from "../data/source";
import { byServer, isServer, serverOf } from "./byServer";
import { ColumnChart, type ValueFormat } from "./ColumnChart";
import { columnsOf, durationTicks, wholeTicks, type Range, type Unit } from "./columns";
import { CountedCalls } from "./CountedCalls";
import { COST, figureText, number } from "./figures";
import { Counting, scopeOf, useGroups } from "./reportParts";
import { ReportNotes } from "./ReportNotes";
import { ReportTable } from "./ReportTable";
import { Total } from "./Total";

const GROUPS: [by: string, name: string][] = [
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

export function Calls({ route, choose }: { route: ReportRoute; choose(changes: Record<string, string | null>): void }) {
  const source = useSource();
  const { range, only: filters, usual: unit } = scopeOf(route.choices);
  const group = GROUPS.find(([by]) => by === route.choices.calls) ?? (GROUPS[0] as (typeof GROUPS)[number]);
  const groups = useGroups(GROUPS.map(([by]) => by), group[0]);
  const plot = PLOTS.find(({ name }) => name === route.choices.plot) ?? (PLOTS[0] as Plot);
  const [attempt, setAttempt] = useState(0);
  const [since, until] = range;
  const only: ReportQuery = { since, until, ...filters };
  const key = JSON.stringify(only);
  const loaded = useCount(`${key} ${unit} ${attempt}`, async () => ({ ...(await source.report<Report>("stats", { ...only, by: unit })), unit, range }));
  const table = useCount(`${key} ${group[0]} ${attempt}`, () => source.report<Report>("stats", { ...only, by: group[0] }));
  if (loaded.state === "ready" && !loaded.value.rows.length && !loaded.value.pending) return null;
  return (
    <section className="calls" aria-labelledby="fails" aria-busy={loaded.state === "ready" && (!loaded.isCurrent || Boolean(loaded.value.pending))}>
      <h2 id="fails">What fails? {loaded.state === "ready" && !loaded.isCurrent && <Counting />}</h2>
      {loaded.state === "failed" && <LoadError error={loaded.error} onRetry={() => setAttempt(attempt + 1)} />}
      {loaded.state === "loading" && <Loading />}
      {loaded.state === "ready" && (
        <>
          <Totals report={loaded.value} route={route} />
          <Failures only={only} route={route} />
          <div className="usage-head">
            <h3>Over time</h3>
            <ChipGroup label="Plot" options={PLOTS} value={plot} name={({ name }) => name} onChoose={({ name }) => choose({ plot: name })} />
          </div>
          <OverTime report={loaded.value} range={loaded.value.range} unit={loaded.value.unit} plot={plot} />
          <div className="usage-head">
            <h3>By {group[1].toLowerCase()}</h3>
            <ChipGroup label="Calls by" options={GROUPS.filter(([by]) => groups.includes(by))} value={group} name={([, name]) => name} onChoose={([by]) => choose({ calls: by, open: null, state: null, rows: null })} />
            {!table.isCurrent && <Counting />}
          </div>
          {table.state === "failed" && <p className="note error">{table.error.message}</p>}
          {table.state === "ready" && (
            <div aria-busy={!table.isCurrent}>
              <StatsTable report={table.value} only={only} route={route} />
            </div>
          )}
        </>
      )}
    </section>
  );
}

interface OverTimeProps {
  report: Report;
  range: Range;
  unit: Unit;
  plot: Plot;
}

function OverTime({ report, range, unit, plot }: OverTimeProps) {
  const chart = useMemo(() => {
    const series = plot.series.filter(([, value], at) => at === 0 || report.rows.some((row) => value(row) > 0));
    const columns = columnsOf(report.rows, series.map(([name]) => name), {
      range,
      unit,
      period: (row) => String(row[unit] ?? ""),
      values: (row) => series.map(([, value], at) => [at, value(row)]),
    });
    return { ...columns, colours: series.map(([, , colour]) => colour) };
  }, [report, range, unit, plot]);
  return <ColumnChart chart={chart} label={plot.name} format={plot.format} />;
}

/** The totals; a count opens the calls behind it. What they cost is said above. */
function Totals({ report, route }: { report: Report; route: ReportRoute }) {
  return (
    <>
      <p className="small-totals">
        {report.columns.map((column) => {
          if (column.name === COST) return null;
          const figure = <Total key={column.name} value={figureText(column, report.totals) || "0"} name={column.title.toLowerCase()} />;
          return column.state ? (
            <a key={column.name} href={reportHref(route, { calls: "state", open: column.state, state: null })}>
              {figure}
            </a>
          ) : (
            figure
          );
        })}
      </p>
      <ReportNotes report={report} style="plain" />
    </>
  );
}

/** What fails most: where, since when, and a link to its calls and to the last of them. */
function Failures({ only, route }: { only: ReportQuery; route: ReportRoute }) {
  const source = useSource();
  const loaded = useCount(JSON.stringify(only), () => source.report<Report>("failures", only));
  const all = route.choices.failures !== undefined;
  if (loaded.state === "loading") return <p className="muted delayed">Counting…</p>;
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  if (!loaded.value.rows.length) return loaded.value.pending ? null : <p className="muted">No call failed.</p>;
  return (
    <div className="failures" aria-busy={!loaded.isCurrent}>
      <ReportTable
        label="Failures table"
        report={loaded.value}
        calls={(row, state) => ({ href: reportHref(route, { calls: "failure", open: String(row.failure), state }), open: false })}
        most={{ count: FIRST_GROUPS, all, href: reportHref(route, { failures: all ? null : "all" }) }}
      />
    </div>
  );
}

/** The figures of each group; a count opens the calls behind it. */
function StatsTable({ report, only, route }: { report: Report; only: ReportQuery; route: ReportRoute }) {
  const { open, state = null, rows } = route.choices;
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
        if (isServer(row)) return { href: reportHref(route, { calls: "mcp_server", open: serverOf(row), state: counted || null }), open: false };
        return { href: reportHref(route, listed ? { open: null, state: null } : { open: String(row[by] ?? ""), state: counted || null }), open: listed };
      }}
      below={(row) => isOpen(row) && <CountedCalls query={{ ...only, by, group: row[by] as string | null, state }} />}
      most={{ count: FIRST_GROUPS, all: Boolean(rows), href: reportHref(route, { rows: rows ? null : "1" }) }}
    />
  );
}

const NO_CALL = "(no call)";
