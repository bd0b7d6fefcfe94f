/** Why it cost so much: output, input, what the cache saved and what it cost, and why it was written again. */

import { useSource } from "../contexts";
import { useCount } from "../kit/useAsync";
import { figureText, valueOf } from "./figures";
import { ReportBars } from "./ReportBars";
import { ReportNotes } from "./ReportNotes";
import type { Report, ReportQuery } from "../data/source";

export function WhyItCost({ query }: { query: ReportQuery }) {
  const source = useSource();
  const loaded = useCount(JSON.stringify(query), () => source.report<Report>("cost", query));
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  if (loaded.state === "loading") return <p className="muted delayed">Counting…</p>;
  const report = loaded.value;
  const [cost] = report.columns;
  if (!cost) return null;
  return (
    <>
      <ReportBars
        report={report}
        value={(row) => valueOf(cost, row) ?? 0}
        text={(row) => figureText(cost, row)}
        colour={({ part }) => (part === "cache_again" ? "series-stopped" : "series-5")}
      />
      <ReportNotes report={report} />
    </>
  );
}
