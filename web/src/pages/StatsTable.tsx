/** The figures of each group; a count opens the calls behind it. */

import { useSource } from "../contexts";
import { FigureHead } from "../kit/FigureHead";
import { capitalized, duration, exact, folder, fullTime, model, money } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import { useAsync } from "../kit/useAsync";
import { reportHref, sessionHref, type ReportRoute } from "../route";
import type { CountedCall, StatsReport, StatsRow } from "../data/source";

const NO_CALL = "(no call)";

interface Props {
  report: StatsReport;
  by: string;
  since: string | null;
  route: ReportRoute;
}

const COUNTS: [name: string, figure: string, state: string | null][] = [
  ["Calls", "calls", null],
  ["Failed", "failed", "failed"],
  ["Denied", "denied", "denied"],
];

export function StatsTable({ report, by, since, route }: Props) {
  const { open, state = null } = route.choices;
  return (
    <div className="scrolls" tabIndex={0} role="region" aria-label="Statistics table">
      <table className="figures">
        <FigureHead group={capitalized(by.replace("_", " "))} figures={[...COUNTS.map(([name]) => name), "Retries", "Time", "Lines", "Cost"]} />
        <tbody>
          {report.rows.map((row) => {
            const group = row[by] === null ? "" : String(row[by]);
            return (
              <GroupRows key={group} row={row} by={by} group={group} since={since} route={route} state={open === group ? state : undefined} />
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  row: StatsRow;
  by: string;
  group: string;
  since: string | null;
  route: ReportRoute;
  /** The state of the calls that are listed, null for all; undefined if none are. */
  state: string | null | undefined;
}

function GroupRows({ row, by, group, since, route, state }: RowProps) {
  const lines = [
    Number(row.lines_added) ? `+${exact(Number(row.lines_added))}` : "",
    Number(row.lines_removed) ? `−${exact(Number(row.lines_removed))}` : "",
  ];
  return (
    <>
      <tr>
        <PlainText as="td" className="group" title={group} text={groupName(by, group)} />
        {COUNTS.map(([name, figure, wanted]) => {
          const count = Number(row[figure] ?? 0);
          const isOpen = state === wanted;
          return (
            <td key={name} className="num">
              {count > 0 && group !== NO_CALL ? (
                <a
                  href={reportHref(route, isOpen ? { open: null, state: null } : { open: group, state: wanted })}
                  aria-expanded={isOpen}
                  title={isOpen ? "Hide these calls" : "List these calls"}
                >
                  {exact(count)}
                </a>
              ) : (
                ""
              )}
            </td>
          );
        })}
        <td className="num">{Number(row.retries) ? exact(Number(row.retries)) : ""}</td>
        <td className="num">{Number(row.call_seconds) ? duration(Number(row.call_seconds)) : ""}</td>
        <td className="num">{lines.filter(Boolean).join(" ")}</td>
        <td className="num">{money(Number(row.cost_usd ?? 0))}</td>
      </tr>
      {state !== undefined && (
        <tr>
          <td colSpan={COUNTS.length + 5}>
            <CallList by={by} group={group} state={state} since={since} />
          </td>
        </tr>
      )}
    </>
  );
}

function CallList({ by, group, state, since }: { by: string; group: string; state: string | null; since: string | null }) {
  const source = useSource();
  const loaded = useAsync(`${by} ${group} ${state} ${since}`, () => source.countedCalls(by, group || null, state, since));
  if (loaded.state === "failed") return <p className="note warning">{loaded.error.message}</p>;
  if (loaded.state === "loading") return <p className="note">Loading…</p>;
  const { calls, total } = loaded.value;
  return (
    <>
      <ul className="counted-calls">
        {calls.map((call) => (
          <li key={`${call.session} ${call.id} ${call.line}`}>
            <CallLink call={call} />
          </li>
        ))}
      </ul>
      {total > calls.length && <p className="note">The newest {calls.length} of {exact(total)} calls.</p>}
    </>
  );
}

function CallLink({ call }: { call: CountedCall }) {
  const words = [call.tool, call.failure ?? call.state, call.file ? groupName("file", call.file) : ""].filter(Boolean).join(" · ");
  const name = (
    <>
      <PlainText text={call.title || call.session} /> <PlainText className="muted" text={words} />
    </>
  );
  return (
    <>
      {call.key === null ? (
        name
      ) : (
        <a href={sessionHref({ session: call.key, agent: call.agent ?? undefined }, { call: call.id })}>{name}</a>
      )}
      {call.time_ms !== null && <span className="muted num"> {fullTime(new Date(call.time_ms).toISOString())}</span>}
    </>
  );
}

function groupName(by: string, group: string): string {
  if (!group) return `no ${by.replace("_", " ")}`;
  if (by === "model") return model(group);
  if (by === "file") return group.split(/[\\/]/).slice(-2).join("/");
  return by === "project" ? folder(group) : group;
}
