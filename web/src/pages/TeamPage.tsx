/** The figures of a team: a quarter of them, by week, by group, and where they could be better. */

import { useState } from "react";
import { useSource } from "../contexts";
import { ChipGroup } from "../kit/ChipGroup";
import { capitalized, day, exact, exactMoney, isoDay, money, moneyTick, plural, share, tokens } from "../kit/format";
import { useKeptScroll } from "../kit/keepScroll";
import { PlainText } from "../kit/PlainText";
import { useAsync, useLastReady } from "../kit/useAsync";
import { Bar } from "../shell/Bar";
import { Empty, LoadError, Loading } from "../shell/PageStates";
import { reportHref, type ReportRoute } from "../route";
import type { ReportRow, TeamFigures, TeamReport } from "../data/source";
import { ColumnChart } from "./ColumnChart";
import { dayAfter, type Chart } from "./columns";
import { COST, figureText, groupName, isLeast, number } from "./figures";
import { ReportBars } from "./ReportBars";
import { ReportNotes } from "./ReportNotes";
import { ChangeOf, Counting, Figures } from "./reportParts";
import { ReportTable } from "./ReportTable";
import { Total } from "./Total";

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
  const { weeks, projects, usage, cache, tools, failures, sessions, refused, budgets } = figures;
  if (weeks.withheld) {
    return (
      <Empty title="Fewer than three people">
        <p>Too few people have figures in this quarter to show them.</p>
      </Empty>
    );
  }
  if (!weeks.rows.length) return <Empty title="No figures in this quarter" />;
  const { totals } = weeks;
  const cost = number(totals, COST);
  const written = number(cache.totals, COST);
  const failed = number(tools.totals, "failed");
  const calls = number(tools.totals, "calls");
  return (
    <>
      <p className="usage-totals">
        <Total value={money(cost, isLeast(totals))} name="at list prices" title={exactMoney(cost)} />
        <WeekChange rows={weeks.rows} />
        {calls > 0 && <Total value={share(failed / calls)} name={`of ${plural(calls, "call")} failed`} />}
      </p>
      <p className="small-totals">
        <Total value={exact(totals.people)} name={totals.people === 1 ? "person" : "people"} />
        <Total value={exact(totals.machines)} name={totals.machines === 1 ? "machine" : "machines"} />
        {!sessions.withheld && sessions.rows.length > 0 && <Total value={exact(number(sessions.totals, "sessions"))} name="sessions" />}
        {!sessions.withheld && sessions.rows.length > 0 && <Total value={exact(number(sessions.totals, "turns"))} name="turns" />}
        <Total value={tokens(number(totals, "tokens"))} name="tokens" title={`${exact(number(totals, "tokens"))} tokens`} />
      </p>
      {budgets.map((one) => (
        <p key={`${one.team} ${one.per}`} className={one.left_usd < 0 ? "note warning" : "note"}>
          Budget of {one.team} this {one.per}: {money(one.spent_usd, one.lower_bound)} of {money(one.amount_usd)}, {money(Math.abs(one.left_usd))}{" "}
          {one.left_usd < 0 ? "over" : "left"}
        </p>
      ))}
      {Object.entries(refused).map(([machine, reasons]) => (
        <p key={machine} className="note warning">
          Left out of <PlainText text={machine} />: <PlainText text={reasons.slice(0, 3).join("; ")} />.
        </p>
      ))}
      <section>
        <h2>What did it cost?</h2>
        <ColumnChart chart={weeksChart(weeks)} label="Cost" format={{ short: money, exact: money, tick: moneyTick }} />
        <ReportNotes report={weeks} />
        <Figures of="week">
          <ReportTable label="By week" report={weeks} main={COST} />
        </Figures>
      </section>
      <div className="usage-pair">
        <Bars title="Where it went" report={projects} figure={COST} whole={cost} />
        <section>
          <div className="usage-head">
            <h3>Who used it</h3>
            <ChipGroup label="Group" options={figures.groups} value={figures.by} name={capitalized} onChoose={(name) => choose({ by: name })} />
          </div>
          <Bars report={usage} figure={COST} whole={cost} />
        </section>
      </div>
      <section>
        <h2>What fails, and what was paid twice?</h2>
        <div className="usage-pair">
          <Bars title="Tools that fail most" report={tools} figure="failed" whole={failed} of="calls" />
          <Bars title="How they fail" report={failures} figure="failed" whole={failed} />
          <Bars title="Written to the cache again" report={cache} figure={COST} whole={written} />
        </div>
      </section>
      <p className="note">
        Groups of fewer than three people are shown together; a + marks those of which that is so in some weeks, and such weeks are joined. Weeks are those of UTC.
        Machines write figures without words: projects have the names that this machine knows.
      </p>
    </>
  );
}

/** How the last whole week compares with the one before it. Weeks that are joined compare with nothing. */
function WeekChange({ rows }: { rows: ReportRow[] }) {
  const today = isoDay(new Date());
  const whole = rows.filter(({ week }) => /^[\d-]{10}$/.test(String(week)) && dayAfter(String(week), 7) <= today);
  const [before, last] = whole.slice(-2).map((row) => [String(row.week), number(row, COST)] as const);
  if (!before?.[1] || !last || dayAfter(before[0], 7) !== last[0]) return null;
  return <ChangeOf was={before[1]} is={last[1]} text={`in the week of ${day(`${last[0]}T12:00`)}: ${money(last[1])}`} />;
}

function weeksChart(weeks: TeamReport): Chart {
  const columns = weeks.rows.map((row) => ({ period: groupName("week", row, weeks), values: [number(row, COST)] }));
  return { names: ["Cost"], totals: [number(weeks.totals, COST)], columns };
}

/** So many groups have a bar; the table has all. */
const FIRST = 8;
const OTHERS = "(others)";

interface BarsProps {
  title?: string;
  report: TeamReport;
  /** The figure that the bars show, and that the groups are ordered by. */
  figure: string;
  /** The sum of all groups. */
  whole: number;
  /** The figure that it is a part of. */
  of?: string;
}

/** The largest groups of a report. What has none of the figure is not listed, and others alone are none. */
function Bars({ title, report, figure, whole, of }: BarsProps) {
  const [by = ""] = report.by;
  const rows = report.rows.filter((row) => number(row, figure) > 0).sort((a, b) => Number(a[by] === OTHERS) - Number(b[by] === OTHERS) || number(b, figure) - number(a, figure));
  const column = report.columns.find(({ name }) => name === figure);
  if (!column) return null;
  const alone = rows.every((row) => row[by] === OTHERS);
  return (
    <section>
      {title && <h3>{title}</h3>}
      {alone ? (
        <p className="note">{report.withheld || rows.length ? "Fewer than three people are in each group, so they are not told apart." : "Nothing in this quarter."}</p>
      ) : (
        <ReportBars
          report={report}
          rows={rows.filter((row, at) => at < FIRST || row[by] === OTHERS)}
          value={(row) => number(row, figure)}
          text={(row) => (of ? `${figureText(column, row)} of ${exact(number(row, of))}` : figureText(column, row))}
          colour={(row) => (row[by] === OTHERS ? "series-5" : "series-0")}
          more={(row) => <span className="num muted">{share(number(row, of ?? "") ? number(row, figure) / number(row, of ?? "") : number(row, figure) / whole)}</span>}
        />
      )}
      <ReportNotes report={report} />
      {!alone && (
        <Figures of={by.replaceAll("_", " ")}>
          <ReportTable label={`By ${by}`} report={report} rows={rows} main={figure === COST ? COST : undefined} />
        </Figures>
      )}
    </section>
  );
}
