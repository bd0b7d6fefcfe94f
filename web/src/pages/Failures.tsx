/** What fails most: where, since when, and a link to its calls and to the last of them. */

import { useSource } from "../contexts";
import { useCount } from "../kit/useAsync";
import { reportHref, type ReportRoute } from "../route";
import type { Report, ReportQuery } from "../data/source";
import { ReportTable } from "./ReportTable";

const FIRST = 10;

export function Failures({ only, route }: { only: ReportQuery; route: ReportRoute }) {
  const source = useSource();
  const loaded = useCount(JSON.stringify(only), () => source.report<Report>("failures", only));
  const all = route.choices.failures !== undefined;
  return (
    <section className="failures" aria-labelledby="failures">
      <h2 id="failures">What fails most</h2>
      {loaded.state === "loading" && <p className="muted delayed">Counting…</p>}
      {loaded.state === "failed" && <p className="note error">{loaded.error.message}</p>}
      {loaded.state === "ready" && !loaded.value.rows.length && !loaded.value.pending && <p className="muted">No call failed.</p>}
      {loaded.state === "ready" && loaded.value.rows.length > 0 && (
        <ReportTable
          label="Failures table"
          report={loaded.value}
          calls={(row, state) => ({ href: reportHref(route, { by: "failure", open: String(row.failure), state }), open: false })}
          most={{ count: FIRST, all, href: reportHref(route, { failures: all ? null : "all" }) }}
        />
      )}
    </section>
  );
}
