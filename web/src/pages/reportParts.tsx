/** What reports share: filters, the change from the period before, a forecast, and an empty period. */

import type { ReactNode } from "react";
import { useSource } from "../contexts";
import { exact, isoDay, money, month } from "../kit/format";
import { useKept } from "../kit/kept";
import { useAsync, useLastReady } from "../kit/useAsync";
import { Empty } from "../shell/PageStates";
import type { BudgetState, Report } from "../data/source";
import { dayAfter, daysOf, fittingUnit, lastDays, periodOf, type Range, type Unit } from "./columns";
import { periodName } from "./ColumnChart";
import { number } from "./figures";
import { ChosenChip, monthDays, ValueChip } from "./FilterBar";
import { choicesOf, daysName, valueName } from "./libraryFilters";
import { useLibrary, useLibraryRows } from "./listState";

/** What a report counts: only these, by the names of the filters. */
export type ReportOnly = Record<string, string>;
type Choose = (changes: Record<string, string | null>) => void;

/** The choices of a report that are no filters. */
const OWN: ReadonlySet<string> = new Set(["period", "from", "to", "unit", "by", "measure", "calls", "plot", "open", "state", "all", "rows", "failures", "advice", "quarter", "why", "path"]);

/** The filters among the choices of a report. */
export const onlyOf = (choices: Record<string, string>): ReportOnly => Object.fromEntries(Object.entries(choices).filter(([name, value]) => value && !OWN.has(name)));

const DAY = /^\d{4}-\d\d-\d\d$/;

/** The days and the sessions that reports count: two days of one's own, or a period with the unit that suits it. */
export function scopeOf(choices: Record<string, string>): { range: Range; isOwn: boolean; only: ReportOnly; usual: Unit } {
  const { from, to, period } = choices;
  const own: [string, string] | null = from && to && DAY.test(from) && DAY.test(to) && from <= to ? [from, to] : null;
  const [days, , unit] = periodOf(period);
  return { range: own ?? lastDays(days), isOwn: own !== null, only: onlyOf(choices), usual: own ? fittingUnit(...own) : unit };
}

/** The budget of a period for what is counted. */
export const budgetOf = (budgets: BudgetState[], per: string, { project = null, model = null, ...others }: Partial<Record<string, string | null>>): number | undefined =>
  Object.keys(others).length ? undefined : budgets.find((one) => one.per === per && one.project === project && one.model === model)?.amount_usd;

/** The filters that all these reports have, as chips. Their values come from the list of sessions. */
export function ReportFilters({ only, reports, onChange }: { only: ReportOnly; reports: string[]; onChange: Choose }) {
  const library = useLibrary();
  const filters = (library?.filters ?? []).filter((filter) => reports.every((name) => filter.reports.includes(name)));
  return (
    <span className="report-filters">
      {filters.map(({ name, help, is_flag }) => {
        const chosen = only[name];
        if (chosen) return <ChosenChip key={name} name={name} value={is_flag ? "only" : valueName(name, chosen)} onRemove={() => onChange({ [name]: null })} />;
        if (!is_flag) return <ValueChip key={name} name={name} label={`Only this ${name}`} values={choicesOf(library?.sessions ?? [], name)} onChoose={(value) => onChange({ [name]: name === "model" ? `claude-${value}` : value })} />;
        return (
          <button key={name} type="button" className="chip add" aria-pressed={false} title={help} onClick={() => onChange({ [name]: "1" })}>
            + {name}
          </button>
        );
      })}
    </span>
  );
}

/** The groups to choose from: machines and people only if there are several, or if they are chosen. */
export function useGroups<Name extends string>(groups: readonly Name[], chosen: Name): Name[] {
  const sessions = useLibraryRows();
  const alone: readonly string[] = (["machine", "person"] as const).filter((name) => !choicesOf(sessions, name).length);
  return groups.filter((name) => name === chosen || !alone.includes(name));
}

/** Says that what is shown is from before, or not all yet. What it is said of is `aria-busy`, and so drawn pale. */
export const Counting = () => (
  <span className="muted delayed counting" role="status">
    Counting…
  </span>
);

/** How much more or less it was than in as many days before. */
export function Change({ range: [from, to], only, cost }: { range: Range; only: ReportOnly; cost: number }) {
  const source = useSource();
  const days = from ? Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000) + 1 : 0;
  const since = from && dayAfter(from, -days);
  const until = from && dayAfter(from, -1);
  const before = useLastReady(
    useAsync(`${since} ${until} ${JSON.stringify(only)}`, () => (since ? source.report<Report>("usage", { by: "month", since, until, ...only }) : Promise.resolve(null))),
  );
  if (before.state !== "ready" || !before.value || !since || !until) return null;
  const was = number(before.value.totals, "cost_usd");
  if (!was) return null;
  return (
    <span aria-busy={!before.isCurrent} title={`${money(was)} in ${daysName(since, until)}`}>
      <ChangeOf was={was} is={cost} text={`vs ${daysName(since, until)}`} />
    </span>
  );
}

/** How much more or less one cost is than another. */
export function ChangeOf({ was, is, text }: { was: number; is: number; text: string }) {
  const change = Math.round((is / was - 1) * 100);
  return (
    <span className="change">
      <strong className="num">
        {change > 0 ? "▲" : change < 0 ? "▼" : "="} {exact(Math.abs(change))} %
      </strong>{" "}
      {text}
    </span>
  );
}

/** The figures behind a chart, on request; `place` tells it apart if what it has changes. */
export function Figures({ of, place = of, children }: { of: string; place?: string; children: ReactNode }) {
  const [shown, setShown] = useKept(`figures of each ${place}`, false);
  return (
    <>
      <button type="button" className="show-more" aria-expanded={shown} onClick={() => setShown(!shown)}>
        Figures of each {of}
      </button>
      {shown && children}
    </>
  );
}

/** What this month comes to at the rate since it began. */
export function Forecast({ only, budgets }: { only: ReportOnly; budgets: BudgetState[] }) {
  const source = useSource();
  const [first, last] = monthDays(0);
  const today = isoDay(new Date());
  const spent = useAsync(`${first} ${JSON.stringify(only)}`, () => source.report<Report>("usage", { by: "month", since: first, until: last, ...only }));
  const over = Number(today.slice(8)) / Number(last.slice(8));
  if (spent.state !== "ready" || over < 0.1) return null;
  const forecast = number(spent.value.totals, "cost_usd") / over;
  const budget = budgetOf(budgets, "month", only);
  if (!forecast) return null;
  return (
    <span className={budget && forecast > budget ? "over-budget" : undefined} title="At the rate since the month began">
      <strong className="num">{money(forecast)}</strong> forecast for {month(`${first}T12:00`)}
      {budget !== undefined && ` of ${money(budget)}`}
    </span>
  );
}

/** A period without usage, and the newest that has some. */
export function NoUsage({ only, choose }: { only: ReportOnly; choose: Choose }) {
  const source = useSource();
  const all = useAsync(JSON.stringify(only), () => source.report<Report>("usage", { by: "month", ...only }));
  const newest = all.state === "ready" ? all.value.rows.flatMap((row) => row.month ?? []).map(String).sort().at(-1) : undefined;
  return (
    <Empty title="No usage in this period">
      {all.state === "loading" && <p className="muted delayed">Looking for the newest…</p>}
      {newest && (
        <p>
          <button
            type="button"
            onClick={() => {
              const [from, to] = daysOf(newest, "month");
              choose({ from, to, unit: null });
            }}
          >
            Show {periodName(newest)}, the newest with usage
          </button>
        </p>
      )}
      {all.state === "ready" && !newest && <p>No session has used anything{Object.keys(only).length ? " with these filters" : " yet"}.</p>}
    </Empty>
  );
}
