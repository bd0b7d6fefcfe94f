/** Tokens and cost over time, by model or by project. */

import { useMemo, useState } from "react";
import { useSource } from "../contexts";
import { Choices } from "../kit/Choices";
import { caveats } from "../kit/Figure";
import { useAsked } from "../kit/useAsked";
import { exact, exactMoney, money, short } from "../kit/words";
import { Bar } from "../shell/Bar";
import { Empty, Failed, Waiting } from "../shell/States";
import type { UsageReport } from "../source";
import { ColumnChart } from "./ColumnChart";
import { seriesOf, tokensOf, type Group, type Measure } from "./series";
import { UsageTable } from "./UsageTable";

const SPANS: [since: string | null, name: string, unit: "day" | "week" | "month"][] = [
  ["7d", "7 days", "day"],
  ["30d", "30 days", "day"],
  ["90d", "90 days", "week"],
  [null, "all", "month"],
];
const GROUPS: Group[] = ["model", "project"];
const MEASURES: Measure[] = ["cost", "tokens"];

export function UsagePage() {
  const source = useSource();
  const [span, setSpan] = useState(SPANS[1] as (typeof SPANS)[number]);
  const [group, setGroup] = useState<Group>("model");
  const [measure, setMeasure] = useState<Measure>("cost");
  const [tries, setTries] = useState(0);
  const [since, , unit] = span;
  const asked = useAsked(`${since} ${unit} ${group} ${tries}`, () => source.usage(`${unit},${group}`, since));
  return (
    <>
      <Bar page="usage" />
      <main className="usage">
        <div className="usage-head">
          <h1>Usage</h1>
          <div className="choices">
            <Choices label="time" options={SPANS} value={span} name={([, name]) => name} onChoose={setSpan} />
            <Choices label="by" options={GROUPS} value={group} name={(name) => `by ${name}`} onChoose={setGroup} />
            <Choices label="of" options={MEASURES} value={measure} onChoose={setMeasure} />
          </div>
        </div>
        {asked.state === "failed" && <Failed error={asked.error} again={() => setTries(tries + 1)} />}
        {asked.state === "waiting" && <Waiting />}
        {asked.state === "here" && <Report report={asked.value} unit={unit} group={group} measure={measure} />}
      </main>
    </>
  );
}

interface ReportProps {
  report: UsageReport;
  unit: "day" | "week" | "month";
  group: Group;
  measure: Measure;
}

function Report({ report, unit, group, measure }: ReportProps) {
  const chart = useMemo(() => seriesOf(report.rows, unit, group, measure), [report, unit, group, measure]);
  const { totals } = report;
  if (!report.rows.length) {
    return (
      <Empty title="Nothing was spent in this time">
        <p>Choose a longer time above.</p>
      </Empty>
    );
  }
  const cost = Number(totals.cost_usd ?? 0);
  return (
    <>
      <p className="usage-totals">
        <span title={exactMoney(cost)}>
          <strong className="num">
            {totals.lower_bound && "≥ "}
            {money(cost)}
          </strong>{" "}
          at list prices
        </span>
        <span title={`${exact(tokensOf(totals))} tokens`}>
          <strong className="num">{short(tokensOf(totals))}</strong> tokens
        </span>
        <span>
          <strong className="num">{exact(Number(totals.responses))}</strong> responses
        </span>
      </p>
      {caveats(totals).map((said) => (
        <p key={said} className="note warning">
          {said}.
        </p>
      ))}
      <ColumnChart chart={chart} measure={measure} />
      <UsageTable rows={report.rows} unit={unit} group={group} />
    </>
  );
}
