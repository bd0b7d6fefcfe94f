/** What the sessions suggest to do differently, each with its evidence. */

import { useSource } from "../contexts";
import { folder, money, plural } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import { useCount } from "../kit/useAsync";
import { reportHref, sessionHref, type ReportRoute } from "../route";
import type { Advice, Counted, ReportQuery } from "../data/source";
import { WithCode } from "./ReportNotes";
import { ShowAll } from "./ReportTable";

const FIRST = 3;

export function AdviceList({ only, route, note }: { only: ReportQuery; route: ReportRoute; note: string | undefined }) {
  const source = useSource();
  const all = route.choices.advice !== undefined;
  const loaded = useCount(JSON.stringify(only), () => source.report<Counted & { sessions: number; advice: Advice[] }>("advice", only));
  return (
    <section className="advice" aria-labelledby="advice" aria-busy={loaded.state === "ready" && !loaded.isCurrent}>
      <h2 id="advice">What should I change?</h2>
      {note && <p className="note">{note}</p>}
      {loaded.state === "loading" && <p className="muted delayed">Looking…</p>}
      {loaded.state === "failed" && <p className="note error">{loaded.error.message}</p>}
      {loaded.state === "ready" && !loaded.value.advice.length && <p className="muted">Nothing to do differently in {plural(loaded.value.sessions, "session")}.</p>}
      {loaded.state === "ready" && (
        <ul>
          {(all ? loaded.value.advice : loaded.value.advice.slice(0, FIRST)).map((advice) => (
            <AdviceRow key={`${advice.kind} ${advice.subject} ${advice.project}`} advice={advice} />
          ))}
        </ul>
      )}
      {loaded.state === "ready" && <ShowAll count={FIRST} all={all} href={reportHref(route, { advice: all ? null : "all" })} rows={loaded.value.advice.length} />}
    </section>
  );
}

function AdviceRow({ advice: { deed, text, cost_usd, project, places } }: { advice: Advice }) {
  return (
    <li>
      <p>
        <WithCode text={deed} />
        {cost_usd !== null && <span className="num"> · {money(cost_usd)}</span>}
      </p>
      <p className="note">
        <WithCode text={text} />
        {project && <PlainText className="muted" text={` · ${folder(project)}`} />}
      </p>
      <p className="note">
        {places.map(({ key, title, line, session }, at) =>
          key === null ? null : (
            <span key={at}>
              <a href={sessionHref({ session: key }, line === null ? {} : { line })}>
                <PlainText text={title || session} />
              </a>
            </span>
          ),
        )}
      </p>
    </li>
  );
}
