/** Tokens and cost over time, by model or by project. */

import { useMemo, useState } from "react";
import { useSource } from "../contexts";
import { ChipGroup } from "../kit/ChipGroup";
import { caveats } from "../kit/Figure";
import { capitalized, exact, exactMoney, money, tokens } from "../kit/format";
import { useAsync } from "../kit/useAsync";
import { Bar } from "../shell/Bar";
import { Empty, LoadError, Loading } from "../shell/PageStates";
import { reportHref, type ReportRoute } from "../route";
import type { UsageReport } from "../source";
import { ColumnChart, type ValueFormat } from "./ColumnChart";
import { lastDays, periodOf, PERIODS, type Unit } from "./columns";
import { chartOf, tokensOf, type Group, type Measure } from "./usageChart";
import { UsageTable } from "./UsageTable";

const GROUPS: Group[] = ["model", "project"];
const MEASURES: Measure[] = ["cost", "tokens"];
const FORMATS: Record<Measure, ValueFormat> = {
  cost: { short: money, exact: money },
  tokens: { short: tokens, exact: (value) => `${exact(value)} tokens` },
};

export function UsagePage({ route }: { route: ReportRoute }) {
  const source = useSource();
  const choose = (changes: Record<string, string>) => location.replace(reportHref(route, changes));
  const period = periodOf(route.choices.period);
  const group = GROUPS.find((name) => name === route.choices.by) ?? "model";
  const measure = MEASURES.find((name) => name === route.choices.measure) ?? "cost";
  const [attempt, setAttempt] = useState(0);
  const [days, , unit] = period;
  const loaded = useAsync(`${days} ${unit} ${group} ${attempt}`, () =>
    source.usageReport(`${unit},${group}`, days === null ? null : `${days}d`),
  );
  return (
    <>
      <Bar page="usage" />
      <main className="usage">
        <div className="usage-head">
          <h1>Usage</h1>
          <div className="choices">
            <ChipGroup label="Period" options={PERIODS} value={period} name={([, name]) => name} onChoose={([, name]) => choose({ period: name })} />
            <ChipGroup label="Group" options={GROUPS} value={group} name={(name) => `By ${name}`} onChoose={(by) => choose({ by })} />
            <ChipGroup label="Measure" options={MEASURES} value={measure} name={capitalized} onChoose={(measure) => choose({ measure })} />
          </div>
        </div>
        {loaded.state === "failed" && <LoadError error={loaded.error} onRetry={() => setAttempt(attempt + 1)} />}
        {loaded.state === "loading" && <Loading />}
        {loaded.state === "ready" && <Report report={loaded.value} days={days} unit={unit} group={group} measure={measure} />}
      </main>
    </>
  );
}

interface ReportProps {
  report: UsageReport;
  days: number | null;
  unit: Unit;
  group: Group;
  measure: Measure;
}

function Report({ report, days, unit, group, measure }: ReportProps) {
  const chart = useMemo(
    () => chartOf(report.rows, unit, group, measure, lastDays(days)),
    [report, days, unit, group, measure],
  );
  const { totals } = report;
  if (!report.rows.length) {
    return (
      <Empty title="No usage in this period">
        <p>Choose a longer period above.</p>
      </Empty>
    );
  }
  const cost = Number(totals.cost_usd ?? 0);
  return (
    <>
      <p className="usage-totals">
        <span title={exactMoney(cost)}>
          <strong className="num">{money(cost, totals.lower_bound)}</strong>{" "}
          at list prices
        </span>
        <span title={`${exact(tokensOf(totals))} tokens`}>
          <strong className="num">{tokens(tokensOf(totals))}</strong> tokens
        </span>
        <span>
          <strong className="num">{exact(Number(totals.responses))}</strong> responses
        </span>
      </p>
      {caveats(totals).map((caveat) => (
        <p key={caveat} className="note warning">
          {caveat}.
        </p>
      ))}
      <ColumnChart chart={chart} label={capitalized(measure)} format={FORMATS[measure]} />
      <UsageTable rows={report.rows} unit={unit} group={group} />
      <p className="note usage-note">Background calls (titles, recaps) are not recorded and not included.</p>
    </>
  );
}
