/** The figures of a team: a quarter of them, by week, by group, and where they could be better. */

import { useState } from "react";
import { useSource } from "../contexts";
import { ChipGroup } from "../kit/ChipGroup";
import { capitalized, money, plural } from "../kit/format";
import { useKeptScroll } from "../kit/keepScroll";
import { PlainText } from "../kit/PlainText";
import { useAsync, useLastReady } from "../kit/useAsync";
import { Counting } from "./reportParts";
import { Bar } from "../shell/Bar";
import { Empty, LoadError, Loading } from "../shell/PageStates";
import { reportHref, type ReportRoute } from "../route";
import type { TeamFigures, TeamReport } from "../data/source";
import { COST, figureText } from "./figures";
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
  const { usage, refused, budgets } = figures;
  if (usage.withheld) {
    return (
      <Empty title="Fewer than three people">
        <p>Too few people have figures in this quarter to show them.</p>
      </Empty>
    );
  }
  if (!usage.rows.length) return <Empty title="No figures in this quarter" />;
  return (
    <>
      <p className="usage-totals">
        {usage.columns.map((column) => (
          <Total key={column.name} value={figureText(column, usage.totals) || "0"} name={column.title.toLowerCase()} />
        ))}
      </p>
      {budgets.map((one) => (
        <p key={`${one.team} ${one.per}`} className={one.left_usd < 0 ? "loud" : undefined}>
          Budget of {one.team} this {one.per}: {money(one.spent_usd, one.lower_bound)} of {money(one.amount_usd)}, {money(Math.abs(one.left_usd))}{" "}
          {one.left_usd < 0 ? "over" : "left"}
        </p>
      ))}
      <Table title="By week" report={figures.weeks} main={COST} />
      <section>
        <div className="usage-head">
          <h2>By group</h2>
          <ChipGroup label="Group" options={figures.groups} value={figures.by} name={capitalized} onChoose={(name) => choose({ by: name })} />
        </div>
        <ReportTable label={`By ${figures.by}`} report={usage} main={COST} />
      </section>
      <Table title="Sessions" report={figures.sessions} />
      <Table title="Written to the cache again" report={figures.cache} main={COST} />
      <Table title="Tools" report={figures.tools} />
      <Table title="Failures" report={figures.failures} />
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

const Table = ({ title, report, main }: { title: string; report: TeamReport; main?: string }) =>
  report.rows.length > 0 && (
    <section>
      <h2>{title}</h2>
      <ReportTable label={title} report={report} {...(main && { main })} />
    </section>
  );
