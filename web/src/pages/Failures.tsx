/** What fails most: where, since when, and a link to its calls and to the last of them. */

import { useSource } from "../contexts";
import { ago, exact, folder, plural, share } from "../kit/format";
import { PlainText, visible } from "../kit/PlainText";
import { useCount } from "../kit/useAsync";
import { listHref, reportHref, sessionHref, type ReportRoute } from "../route";
import type { FailureRow } from "../data/source";
import type { StatsOnly } from "./StatsTable";

const FIRST = 10;

export function Failures({ only, route }: { only: StatsOnly; route: ReportRoute }) {
  const source = useSource();
  const loaded = useCount(JSON.stringify(only), () => source.failures(only));
  const all = route.choices.failures !== undefined;
  return (
    <section className="failures" aria-labelledby="failures">
      <h2 id="failures">What fails most</h2>
      {loaded.state === "loading" && <p className="muted delayed">Counting…</p>}
      {loaded.state === "failed" && <p className="note error">{loaded.error.message}</p>}
      {loaded.state === "ready" && !loaded.value.rows.length && !loaded.value.pending && <p className="muted">No call failed.</p>}
      {loaded.state === "ready" && loaded.value.rows.length > 0 && (
        <>
          <div className="scrolls" tabIndex={0} role="region" aria-label="Failures table">
            <table className="figures">
              <thead>
                <tr>
                  <th scope="col">Failure</th>
                  <th scope="col" className="num">Failed</th>
                  <th scope="col" className="num">Of the tool’s calls</th>
                  <th scope="col">Most in</th>
                  <th scope="col">Since</th>
                  <th scope="col">Last</th>
                </tr>
              </thead>
              <tbody>
                {(all ? loaded.value.rows : loaded.value.rows.slice(0, FIRST)).map((row) => (
                  <Failure key={`${row.tool} ${row.failure}`} row={row} route={route} />
                ))}
              </tbody>
            </table>
          </div>
          {loaded.value.rows.length > FIRST && (
            <p>
              <a className="show-more" href={reportHref(route, { failures: all ? null : "all" })}>
                {all ? `Only the first ${FIRST}` : `All ${exact(loaded.value.rows.length)}`}
              </a>
            </p>
          )}
        </>
      )}
    </section>
  );
}

function Failure({ row, route }: { row: FailureRow; route: ReportRoute }) {
  const { last } = row;
  return (
    <tr>
      <th scope="row" className="group" title={visible(`${row.tool}: ${row.failure}`)}>
        <PlainText text={row.tool} /> <PlainText className="muted" text={row.failure} />
      </th>
      <td className="num">
        <a href={reportHref(route, { by: "failure", open: row.failure, state: "failed" })} title="List these calls">
          {exact(row.count)}
        </a>
      </td>
      <td className="num muted">{share(row.count / row.calls)}</td>
      <td className="group">
        <a href={listHref({ only: { project: row.project } })} title={`${exact(row.there)} of ${exact(row.count)}, in ${plural(row.sessions, "session")}`}>
          <PlainText text={folder(row.project)} />
        </a>
      </td>
      <td>{row.first_ms === null ? "" : ago(new Date(row.first_ms).toISOString())}</td>
      <td>
        {row.last_ms !== null &&
          (last.key === null ? (
            ago(new Date(row.last_ms).toISOString())
          ) : (
            <a href={sessionHref({ session: last.key, agent: last.agent ?? undefined }, { call: last.id })}>{ago(new Date(row.last_ms).toISOString())}</a>
          ))}
      </td>
    </tr>
  );
}
