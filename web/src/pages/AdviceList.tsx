/** What the sessions suggest to do differently, each with its evidence. */

import { useSource } from "../contexts";
import { exact, folder, money, plural } from "../kit/format";
import { useKept } from "../kit/kept";
import { PlainText } from "../kit/PlainText";
import { useCount } from "../kit/useAsync";
import { sessionHref } from "../route";
import type { Advice } from "../data/source";
import type { StatsOnly } from "./StatsTable";

const FIRST = 5;

export function AdviceList({ only }: { only: StatsOnly }) {
  const source = useSource();
  const [all, setAll] = useKept("all advice", false);
  const loaded = useCount(JSON.stringify(only), () => source.advice(only));
  return (
    <section className="advice" aria-labelledby="advice">
      <h2 id="advice">Advice</h2>
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
      {loaded.state === "ready" && loaded.value.advice.length > FIRST && (
        <button type="button" className="show-more" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? `Only the first ${FIRST}` : `All ${exact(loaded.value.advice.length)}`}
        </button>
      )}
    </section>
  );
}

/** A text in which what stands between backticks is code. */
const WithCode = ({ text }: { text: string }) =>
  text.split("`").map((piece, at, pieces) => (at % 2 && at < pieces.length - 1 ? <PlainText key={at} as="code" text={piece} /> : <PlainText key={at} text={at % 2 ? `\`${piece}` : piece} />));

function AdviceRow({ advice: { text, cost_usd, project, places } }: { advice: Advice }) {
  return (
    <li>
      <p>
        <WithCode text={text} />
        {cost_usd !== null && cost_usd >= 0.005 && <span className="num"> · {money(cost_usd)}</span>}
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
