/** What did it cost and why, what should I change, and what fails: three reports on the same sessions and days. */

import { ChipGroup } from "../kit/ChipGroup";
import { useKeptScroll } from "../kit/keepScroll";
import { Bar } from "../shell/Bar";
import { reportHref, type ReportRoute } from "../route";
import { AdviceList } from "./AdviceList";
import { Calls } from "./Calls";
import { periodOf, PERIODS } from "./columns";
import { Costs } from "./Costs";
import { ReportFilters, scopeOf } from "./reportParts";

/** The reports of the page, which the filters have to narrow. */
const REPORTS = ["usage", "cost", "stats", "failures"];

export function InsightsPage({ route }: { route: ReportRoute }) {
  useKeptScroll();
  const { range, isOwn, only } = scopeOf(route.choices);
  const [since, until] = range;
  const { model, ...whole } = only; // advice looks at whole sessions
  const choose = (changes: Record<string, string | null>) => location.assign(reportHref(route, changes));
  return (
    <>
      <Bar page="insights" />
      <main className="usage">
        <div className="usage-head">
          <h1>Insights</h1>
          <div className="choices">
            <ChipGroup label="Period" options={PERIODS} value={isOwn ? null : periodOf(route.choices.period)} name={([, name]) => name} onChoose={([, name]) => choose({ period: name, from: null, to: null, unit: null })} />
            <span className="days">
              <input type="date" aria-label="From" value={since ?? ""} max={until} onChange={(event) => choose({ from: event.target.value || null, to: until, unit: null })} />–
              <input type="date" aria-label="To" value={until} min={since ?? undefined} onChange={(event) => choose({ from: since ?? event.target.value, to: event.target.value || null, unit: null })} />
            </span>
            <ReportFilters only={only} reports={REPORTS} onChange={choose} />
          </div>
        </div>
        <Costs route={route} choose={choose}>
          <AdviceList only={{ since, until, ...whole }} route={route} note={model && "Of all models: advice looks at whole sessions."} />
        </Costs>
        <Calls route={route} choose={choose} />
      </main>
    </>
  );
}
