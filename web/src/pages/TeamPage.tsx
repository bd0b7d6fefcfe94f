/** The figures of a team: a quarter of them, by week, by group, and where they could be better. */

import { useState } from "react";
import { useSource } from "../contexts";
import { ChipGroup } from "../kit/ChipGroup";
import { capitalized, duration, exact, model, money, plural, tokens } from "../kit/format";
import { useKeptScroll } from "../kit/keepScroll";
import { PlainText } from "../kit/PlainText";
import { useAsync, useLastReady } from "../kit/useAsync";
import { Counting } from "./reportParts";
import { Bar } from "../shell/Bar";
import { Empty, LoadError, Loading } from "../shell/PageStates";
import { reportHref, type ReportRoute } from "../route";
import type { TeamFigures, TeamReport } from "../data/source";
import { periodName } from "./ColumnChart";
import { FigureTable } from "./FigureTable";
import { Total } from "./Total";

type Figures = TeamReport["totals"] | TeamReport["rows"][number];
type Column = [name: string, show: (figures: Figures) => string];

const amount = (figures: Figures, name: string): number => Number(figures[name] ?? 0);
const cost = (figures: Figures): string => money(amount(figures, "cost_usd"), (figures.unpriced_models as string[]).length > 0 || figures.lower_bound === true);
const count = (name: string, field: string): Column => [name, (figures) => exact(amount(figures, field))];

const USAGE: Column[] = [
  ["Cost", cost],
  count("Responses", "responses"),
  ["Input", (figures) => tokens(amount(figures, "input_tokens"))],
  ["Cache write", (figures) => tokens(amount(figures, "cache_write_5m_tokens") + amount(figures, "cache_write_1h_tokens"))],
  ["Cache read", (figures) => tokens(amount(figures, "cache_read_tokens"))],
  ["Output", (figures) => tokens(amount(figures, "output_tokens"))],
];
const CACHE: Column[] = [
  ["Cost", cost],
  count("Breaks", "breaks"),
  ["Tokens", (figures) => tokens(amount(figures, "tokens"))],
];
const CALLS: Column[] = [
  count("Calls", "calls"),
  count("Failed", "failed"),
  count("Denied", "denied"),
  ["Time", (figures) => duration(amount(figures, "call_seconds"))],
];
const SESSIONS: Column[] = [count("Sessions", "sessions"), count("Turns", "turns"), count("Compactions", "compactions")];

export function TeamPage({ route }: { route: ReportRoute }) {
  const { team } = useSource();
  useKeptScroll();
  const [attempt, setAttempt] = useState(0);
  const { quarter, by } = route.choices;
  const loaded = useLastReady(useAsync(`${quarter} ${by} ${attempt}`, () => (team ? team({ quarter, by }) : Promise.reject(new Error("This server has no team; start it with `reread serve --team`.")))));
  const choose = (changes: Record<string, string | null>) => location.assign(reportHref(route, changes));
  const figures = loaded.state === "ready" ? loaded.value : null;
  return (
    <>
      <Bar page="team" />
      <main className="usage team" aria-busy={figures !== null && !loaded.isCurrent}>
        <div className="usage-head">
          <h1>Team</h1>
          <div className="choices">
            {figures && <ChipGroup label="Quarter" options={figures.quarters} value={figures.quarter} name={(name) => name.split("-").reverse().join(" ")} onChoose={(name) => choose({ quarter: name })} />}
            {figures && !loaded.isCurrent && <Counting />}
          </div>
        </div>
        {loaded.state === "failed" && <LoadError error={loaded.error} onRetry={() => setAttempt(attempt + 1)} />}
        {loaded.state === "loading" && <Loading />}
        {figures && <Quarter figures={figures} choose={choose} />}
      </main>
    </>
  );
}

function Quarter({ figures, choose }: { figures: TeamFigures; choose(changes: Record<string, string | null>): void }) {
  const { usage, refused, budgets } = figures;
  if (usage.withheld) {
    return (
      <Empty title="Fewer than three people">
        <p>Too few people have figures in this quarter to show them.</p>
      </Empty>
    );
  }
  if (!usage.rows.length) return <Empty title="No figures in this quarter" />;
  const { totals } = usage;
  return (
    <>
      <p className="usage-totals">
        <Total value={cost(totals)} name="cost" />
        <Total value={exact(usage.totals.people)} name={usage.totals.people === 1 ? "person" : "people"} />
        <Total value={exact(usage.totals.machines)} name={usage.totals.machines === 1 ? "machine" : "machines"} />
        <Total value={exact(amount(totals, "responses"))} name="responses" />
      </p>
      {budgets.map((one) => (
        <p key={`${one.team} ${one.per}`} className={one.left_usd < 0 ? "loud" : undefined}>
          Budget of {one.team} this {one.per}: {money(one.spent_usd, one.lower_bound)} of {money(one.amount_usd)}, {money(Math.abs(one.left_usd))}{" "}
          {one.left_usd < 0 ? "over" : "left"}
        </p>
      ))}
      <Table title="By week" group="week" report={figures.weeks} columns={USAGE} />
      <section>
        <div className="usage-head">
          <h2>By group</h2>
          <ChipGroup label="Group" options={figures.groups} value={figures.by} name={capitalized} onChoose={(name) => choose({ by: name })} />
        </div>
        <TeamTable title={`By ${figures.by}`} group={figures.by} report={usage} columns={USAGE} />
      </section>
      <Table title="Sessions" group="week" report={figures.sessions} columns={SESSIONS} />
      <Table title="Written to the cache again" group="cause" report={figures.cache} columns={CACHE} />
      <Table title="Tools" group="tool" report={figures.tools} columns={CALLS} />
      <Table title="Failures" group="failure" report={figures.failures} columns={CALLS} />
      {Object.entries(refused).map(([machine, reasons]) => (
        <p key={machine} className="loud">
          Left out of <PlainText text={machine} />: <PlainText text={reasons.slice(0, 3).join("; ")} />.
        </p>
      ))}
      <p className="muted">
        Groups of fewer than three people are among the others, week by week. A + marks groups of which that is so in some weeks. Weeks with fewer than three people are
        joined. Weeks are those of UTC. {plural(usage.totals.machines, "machine")} wrote figures without words.
      </p>
    </>
  );
}

interface TableProps {
  title: string;
  group: string;
  report: TeamReport;
  columns: Column[];
}

const Table = (table: TableProps) =>
  table.report.rows.length > 0 && (
    <section>
      <h2>{table.title}</h2>
      <TeamTable {...table} />
    </section>
  );

const TeamTable = ({ title, group, report: { rows, totals }, columns }: TableProps) => (
  <FigureTable<Figures>
    label={title}
    group={group}
    figures={["People", ...columns.map(([name]) => name)]}
    rows={rows}
    totals={totals}
    name={(row) => <PlainText text={nameOf(row, group)} />}
    cells={(row) => [count("People", "people"), ...columns].map(([name, show]) => (
      <td key={name} className="num">
        {show(row)}
      </td>
    ))}
  />
);

const NAMES: Record<string, (value: string) => string> = {
  model,
  week: (value) => value.split(" to ").map(periodName).join(" – "),
};

function nameOf(row: Figures, group: string): string {
  const value = row[group] ?? null;
  const name = value === null ? "–" : (NAMES[group]?.(String(value)) ?? String(value).replaceAll("_", " "));
  return row.partial ? `${name} +` : name;
}
