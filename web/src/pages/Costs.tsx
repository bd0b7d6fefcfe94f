/** What did it cost? Over time and by group, why, by hour of the week, and by session. */

import { useMemo, useState, type ReactNode } from "react";
import { useSource } from "../contexts";
import { ChipGroup } from "../kit/ChipGroup";
import { capitalized, exact, exactMoney, money, moneyTick, plural, share, tokens } from "../kit/format";
import { useAsync, useCount, useLastReady } from "../kit/useAsync";
import { LoadError, Loading } from "../shell/PageStates";
import { listHref, reportHref, type Filters, type ReportRoute } from "../route";
import type { BudgetState, Report, ReportRow, Source } from "../data/source";
import type { ReaderSettings } from "../data/values";
import { BudgetField } from "./BudgetField";
import { ColumnChart, periodName, total, type ValueFormat } from "./ColumnChart";
import { daysOf, fittingUnit, UNITS, type Chart, type Column, type Range, type Unit } from "./columns";
import { groupName, isLeast, number } from "./figures";
import { Heatmap } from "./Heatmap";
import { passes } from "./libraryFilters";
import { useLibraryRows } from "./listState";
import { ReportBars } from "./ReportBars";
import { ReportNotes } from "./ReportNotes";
import { budgetOf, Change, Counting, Figures, Forecast, NoUsage, scopeOf, useGroups, type ReportOnly } from "./reportParts";
import { ReportTable } from "./ReportTable";
import { Total } from "./Total";
import { chartOf, FIGURES, GROUPS, measureOf, sumBy, sumByGroup, type Group, type Measure } from "./usageChart";
import { WhyItCost } from "./WhyItCost";

const MEASURES: Measure[] = ["cost", "tokens"];
const FORMATS: Record<Measure, ValueFormat> = {
  cost: { short: money, exact: money, tick: moneyTick },
  tokens: { short: tokens, exact: (value) => `${exact(value)} tokens` },
};
const GROUP_NAMES: Record<Group, string> = { model: "model", project: "project", agent_type: "agent type", tool: "tool", machine: "machine", person: "person" };
const TOP = 10;
/** How many groups have a bar, and a row until all are asked for. */
const FIRST_GROUPS = 10;

/** What is shown, as the address says. */
interface View {
  range: Range;
  only: ReportOnly;
  unit: Unit;
  group: Group;
  measure: Measure;
}

function viewOf({ choices }: ReportRoute): View {
  const { from, to } = choices;
  const { range, isOwn, only, usual } = scopeOf(choices);
  const group = GROUPS.find((name) => name === choices.by) ?? GROUPS[0];
  const unit = UNITS.find((name) => name === choices.unit) ?? (isOwn ? "day" : usual);
  return {
    range,
    only,
    unit: from && from === to ? "hour" : unit,
    group,
    measure: (group !== "tool" && MEASURES.find((name) => name === choices.measure)) || "cost",
  };
}

interface Props {
  route: ReportRoute;
  choose(changes: Record<string, string | null>): void;
  /** What stands below the headline. */
  children: ReactNode;
}

export function Costs({ route, choose, children }: Props) {
  const source = useSource();
  const view = viewOf(route);
  const [attempt, setAttempt] = useState(0);
  const loaded = useCount(`${view.range.join()} ${JSON.stringify(view.only)} ${view.unit} ${view.group} ${attempt}`, () => load(source, view, route.choices.unit !== undefined));
  const waiting = loaded.state === "ready" && (!loaded.isCurrent || Boolean(loaded.value.pending));
  return (
    <section className="costs" aria-label="What did it cost?" aria-busy={waiting}>
      {loaded.state === "failed" && <LoadError error={loaded.error} onRetry={() => setAttempt(attempt + 1)} />}
      {loaded.state === "loading" && <Loading />}
      {loaded.state === "ready" && (
        <Loaded
          report={loaded.value.report}
          view={{ ...loaded.value.view, measure: loaded.value.view.group === "tool" ? "cost" : view.measure }}
          wanted={loaded.isCurrent ? loaded.value.view : view}
          waiting={waiting}
          route={route}
          choose={choose}
        >
          {children}
        </Loaded>
      )}
    </section>
  );
}

/** The report. If nobody chose the unit of a range without a beginning, one that fits what there is. */
async function load(source: Source, view: View, chosen: boolean): Promise<LoadedView> {
  const report = await loadRows(source, view);
  const [since] = view.range;
  const first = report.rows.flatMap((row) => row[view.unit] ?? []).map(String).sort()[0];
  const unit = chosen || since !== null || !first ? view.unit : fittingUnit(first, view.range[1]);
  if (unit === view.unit) return { report, view, pending: report.pending };
  const fitting = { ...view, unit };
  return { report: await loadRows(source, fitting), view: fitting, pending: report.pending };
}

interface LoadedView {
  report: LoadedReport;
  view: View;
  pending: number | undefined;
}

interface LoadedReport extends Report {
  /** What the whole range used, whatever the groups. */
  usage: Report;
}

/** The rows by period and group. A response belongs to no tool: by tool, its cost is shared by its calls. */
async function loadRows(source: Source, { range: [since, until], only, unit, group }: View): Promise<LoadedReport> {
  const query = { by: `${unit},${group}`, since, until, ...only };
  if (group !== "tool") {
    const report = await source.report<Report>("usage", query);
    return { ...report, usage: report };
  }
  const [calls, usage] = await Promise.all([source.report<Report>("stats", query), source.report<Report>("usage", { ...query, by: unit })]);
  return { ...calls, usage };
}

interface LoadedProps {
  report: LoadedReport;
  /** What the report shows. */
  view: View;
  /** What it shall show; another report may be on its way. */
  wanted: View;
  waiting: boolean;
  route: ReportRoute;
  choose(changes: Record<string, string | null>): void;
  children: ReactNode;
}

function Loaded({ report, view, wanted, waiting, route, choose, children }: LoadedProps) {
  const { range, only, unit, group, measure } = view;
  const source = useSource();
  const chart = useMemo(() => chartOf(report.rows, unit, group, measure, range), [report, unit, group, measure]);
  const stored = useAsync("settings", () => source.settings());
  const budgets = useAsync("budgets", async () => (await source.report<{ budgets: BudgetState[] }>("budgets")).budgets);
  const [changed, setChanged] = useState<ReaderSettings | null>(null);
  const settings = changed ?? (stored.state === "ready" ? stored.value : null);
  const groups = useGroups(GROUPS, wanted.group);
  const sessions = useLibraryRows();
  if (!report.rows.length && !waiting) {
    return <NoUsage only={only} choose={choose} />;
  }
  const hrefOf = (period: string) => {
    const [from, to] = daysOf(period, unit);
    return reportHref(route, { from, to, unit: null });
  };
  const scoped = budgets.state === "ready" ? budgetOf(budgets.value, unit, only) : undefined;
  const isFiltered = Object.keys(only).length > 0;
  const budget = measure === "cost" && unit !== "hour" ? ((isFiltered ? scoped : settings?.[unit]) ?? null) : null;
  const over = budget === null ? 0 : chart.columns.filter((column) => total(column) > budget).length;
  const all = route.choices.all !== undefined;
  const ranked = sumByGroup(report.rows, group).sort((a, b) => measureOf(b, measure) - measureOf(a, measure));
  const whole = ranked.reduce((sum, row) => sum + measureOf(row, measure), 0);
  return (
    <>
      <Totals usage={report.usage} peak={measure === "cost" ? peakOf(chart) : null} periods={chart.columns.length} unit={unit}>
        <Change range={range} only={only} cost={number(report.usage.totals, "cost_usd")} />
        <Forecast only={only} budgets={budgets.state === "ready" ? budgets.value : []} />
      </Totals>
      {children}
      <div className="usage-head">
        <h2>What did it cost?</h2>
        <div className="choices">
        <ChipGroup label="Cost by" options={groups} value={wanted.group} name={(name) => `By ${GROUP_NAMES[name]}`} onChoose={(by) => choose({ by })} />
        {group !== "tool" && <ChipGroup label="Measure" options={MEASURES} value={measure} name={capitalized} onChoose={(measure) => choose({ measure })} />}
        {unit !== "hour" && <ChipGroup label="Unit" options={UNITS} value={wanted.unit === "hour" ? null : wanted.unit} name={capitalized} onChoose={(unit) => choose({ unit })} />}
        {waiting && <Counting />}
        {settings && !isFiltered && measure === "cost" && unit !== "hour" && <BudgetField unit={unit} settings={settings} onChange={setChanged} />}
        </div>
      </div>
      <ColumnChart
        chart={chart}
        label={capitalized(measure)}
        format={FORMATS[measure]}
        line={budget}
        onChoose={unit === "hour" ? undefined : (period) => period && location.assign(hrefOf(period))}
      />
      {budget !== null && (
        <p className={over ? "note warning" : "note"}>
          {over ? `${plural(over, unit)} of ${chart.columns.length} above the budget of ${money(budget)}.` : `No ${unit} above the budget of ${money(budget)}.`}
        </p>
      )}
      <div className="usage-pair">
        <section aria-labelledby="where">
          <h3 id="where">Where it went</h3>
          <ReportBars
            report={report}
            rows={ranked.slice(0, FIRST_GROUPS)}
            by={group}
            value={(row) => measureOf(row, measure)}
            text={(row) => (measure === "tokens" ? tokens(measureOf(row, measure)) : row.cost_usd === null ? "–" : money(measureOf(row, measure)))}
            colour={(_, at) => `series-${Math.min(at, 5)}`}
            href={(row) => sessionsHref(row, group, range, only)}
            more={(row) => {
              const filters = filtersOf(row, group, range, only);
              const count = filters && group !== "tool" ? sessions.filter((session) => passes(session, filters)).length : 0;
              return (
                <>
                  <span className="num muted">{whole > 0 ? share(measureOf(row, measure) / whole) : ""}</span>
                  <span className="num muted bar-sessions">{count > 0 && plural(count, "session")}</span>
                </>
              );
            }}
          />
        </section>
        <section className="why" aria-labelledby="why">
          <h3 id="why">Why</h3>
          <WhyItCost query={{ since: range[0], until: range[1], ...only }} route={route} />
        </section>
      </div>
      {group === "tool" && <p className="note usage-note">The cost of a response is shared equally by its calls; its tokens cannot be.</p>}
      <Figures of={GROUP_NAMES[group]} place="group">
        <ReportTable
          label={`Usage by ${GROUP_NAMES[group]}`}
          report={report}
          rows={ranked}
          by={[group]}
          main={FIGURES.cost}
          href={(row) => sessionsHref(row, group, range, only)}
          most={{ count: FIRST_GROUPS, all, href: reportHref(route, { all: all ? null : "1" }) }}
        />
      </Figures>
      <Figures of={unit} place="unit">
        <ReportTable
          label={`Usage by ${unit}`}
          report={report}
          rows={sumBy(report.rows, (row) => row[unit]).sort((a, b) => String(b[unit]).localeCompare(String(a[unit])))}
          by={[unit]}
          main={FIGURES.cost}
          href={(row) => (unit === "hour" || !row[unit] ? null : hrefOf(String(row[unit])))}
        />
      </Figures>
      <WhenAndWhere range={range} only={only} measure={measure} />
      <ReportNotes report={report.usage} style="plain" />
    </>
  );
}

/** The highest of several columns. */
function peakOf({ columns }: Chart): Column | null {
  return columns.length > 1 ? columns.reduce((most, column) => (total(column) > total(most) ? column : most)) : null;
}

/** The totals of the range, and once what is unknown about them. */
function Totals({ usage, peak, periods, unit, children }: { usage: Report; peak: Column | null; periods: number; unit: Unit; children: ReactNode }) {
  const { totals } = usage;
  const used = number(totals, "tokens");
  const cost = number(totals, "cost_usd");
  const read = number(totals, "cache_read_tokens");
  const input = used - number(totals, "output_tokens");
  return (
    <>
      <p className="usage-totals">
        <Total value={money(cost, isLeast(totals))} name="at list prices" title={exactMoney(cost)} />
        {children}
      </p>
      <p className="small-totals">
        <Total value={tokens(used)} name="tokens" title={`${exact(used)} tokens`} />
        <Total value={exact(number(totals, "responses"))} name="responses" />
        {input > 0 && (
          <Total value={`${Math.floor((read / input) * 100)} %`} name="of the input from the cache" title={`${exact(read)} of ${exact(input)} tokens of input`} />
        )}
        {peak && <Total value={money(cost / periods, isLeast(totals))} name={`per ${unit} on average`} />}
        {peak && <Total value={money(total(peak))} name={`on the highest ${unit}, ${periodName(peak.period)}`} />}
      </p>
      <ReportNotes report={usage} style="loud" />
    </>
  );
}

/** The hours of the week and the sessions with the most usage of a range. */
function WhenAndWhere({ range: [since, until], only, measure }: { range: Range; only: View["only"]; measure: Measure }) {
  const source = useSource();
  const loaded = useLastReady(
    useAsync(`${since} ${until} ${JSON.stringify(only)} ${measure}`, () =>
      Promise.all([
        source.report<Report>("usage", { by: "weekday,hour", since, until, ...only }),
        source.report<Report>("usage", { by: "session", sort: measure, limit: TOP, since, until, ...only }),
      ]),
    ),
  );
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  if (loaded.state === "loading") return <p className="muted delayed usage-pair">Counting…</p>;
  const [hours, sessions] = loaded.value;
  return (
    <div className="usage-pair" aria-busy={!loaded.isCurrent}>
      <section>
        <h3>Hours of the week {!loaded.isCurrent && <Counting />}</h3>
        <Heatmap rows={hours.rows} measure={measure} format={FORMATS[measure]} />
      </section>
      <section className="top-sessions">
        <h3>Top sessions</h3>
        <ReportTable label="Usage by session" report={sessions} columns={[FIGURES.cost, FIGURES.tokens]} />
      </section>
    </div>
  );
}

/** The address of the sessions of a group; null if the group has no name. */
function sessionsHref(row: ReportRow, group: Group, range: Range, only: ReportOnly): string | null {
  const filters = filtersOf(row, group, range, only);
  return filters && listHref({ filter: group === "tool" ? `tool:${String(row.tool)}` : "", only: filters });
}

/** What the list is narrowed to for the sessions of a group. */
function filtersOf(row: ReportRow, group: Group, [from, to]: Range, only: ReportOnly): Filters | null {
  const value = row[group];
  if (value === null || value === undefined || value === "" || value === "(no call)" || (group === "agent_type" && value === "main")) return null;
  const filters: Filters = { ...(from ? { from, to } : {}), ...only };
  if (only.model) filters.model = groupName("model", { model: only.model });
  if (group !== "tool") filters[group === "agent_type" ? "agent" : group] = group === "model" ? groupName("model", row) : String(value);
  return filters;
}
