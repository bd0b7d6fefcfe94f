/** Why it cost so much: output, input, what the cache saved and what it cost, and why it was written again. */

import { useSource } from "../contexts";
import { exact, exactMoney, fullTime, model, money } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import { useAsync, useCount } from "../kit/useAsync";
import { reportHref, sessionHref, type ReportRoute } from "../route";
import { figureText, moment, valueOf } from "./figures";
import { ReportBars } from "./ReportBars";
import { ReportNotes } from "./ReportNotes";
import type { CostlyResponse, Report, ReportQuery, ReportRow } from "../data/source";

const AGAIN = "cache_again";
const UNKNOWN = "unknown";

export function WhyItCost({ query, route }: { query: ReportQuery; route: ReportRoute }) {
  const source = useSource();
  const loaded = useCount(JSON.stringify(query), () => source.report<Report & { causes: ReportRow[] }>("cost", query));
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  if (loaded.state === "loading") return <p className="muted delayed">Counting…</p>;
  const report = loaded.value;
  const [cost] = report.columns;
  if (!cost) return null;
  const causes = report.causes.map((row) => ({ ...row, part: row.cause ?? "" }));
  const isOpen = ({ part }: ReportRow) => route.choices.why === part;
  return (
    <div aria-busy={!loaded.isCurrent}>
      <ReportBars
        report={report}
        rows={report.rows.flatMap((row) => (row.part === AGAIN ? [row, ...causes] : [row]))}
        value={(row) => valueOf(cost, row) ?? 0}
        text={(row) => figureText(cost, row)}
        colour={({ part, cause }) => (cause || part === AGAIN ? "series-stopped" : "series-5")}
        className={({ cause }) => (cause ? "cause" : undefined)}
        href={(row) => (valueOf(cost, row) ? reportHref(route, { why: isOpen(row) ? null : String(row.part) }) : null)}
        below={(row) => isOpen(row) && <Responses query={{ ...query, ...(row.cause ? { part: AGAIN, cause: String(row.cause) } : { part: String(row.part) }) }} />}
      />
      <ReportNotes report={report} />
    </div>
  );
}

/** The dearest responses behind a part of the cost, each with a link to its place. */
function Responses({ query }: { query: ReportQuery }) {
  const source = useSource();
  const loaded = useAsync(JSON.stringify(query), () => source.report<{ responses: CostlyResponse[]; total: number }>("responses", query));
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  if (loaded.state === "loading") return <p className="note">Counting…</p>;
  const { responses, total } = loaded.value;
  return (
    <>
      {query.cause === UNKNOWN && <p className="note">Nothing that is recorded says why: transcripts do not have the system prompt and the tools of a request, so a change of these is not seen.</p>}
      <ul className="counted-calls">
        {responses.map((one, at) => (
          <li key={at}>
            <ResponseLink response={one} />
          </li>
        ))}
      </ul>
      {total > responses.length && <p className="note">The dearest {responses.length} of {exact(total)}.</p>}
    </>
  );
}

function ResponseLink({ response: { key, session, title, agent, message, turn, detail, model: name, time_ms, cost_usd } }: { response: CostlyResponse }) {
  const words = [turn ? `turn ${turn}` : "", agent ? "agent" : "", name && model(name), detail].filter(Boolean).join(" · ");
  const text = (
    <>
      <PlainText text={title || session} /> <PlainText className="muted" text={words} />
    </>
  );
  const target = message ? { message } : turn && !agent ? { turn } : {};
  return (
    <>
      <span className="num" title={exactMoney(cost_usd)}>
        {money(cost_usd)}
      </span>{" "}
      {key === null ? text : <a href={sessionHref({ session: key, agent: agent ?? undefined }, target)}>{text}</a>}
      {time_ms !== null && (
        <span className="muted num" title={fullTime(new Date(time_ms).toISOString())}>
          {" "}
          {moment(time_ms)}
        </span>
      )}
    </>
  );
}
