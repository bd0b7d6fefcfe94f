/** The figures of each group; a count opens the calls behind it. */

import { useSource } from "../contexts";
import { FigureHead } from "../kit/FigureHead";
import { ago, capitalized, duration, exact, folder, fullTime, model, money } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import { useAsync } from "../kit/useAsync";
import { reportHref, sessionHref, type ReportRoute } from "../route";
import type { CountedCall, ReportQuery, Report, ReportRow } from "../data/source";
import { sumBy } from "./usageChart";

const NO_CALL = "(no call)";

/** What is counted: the days, and a project. */
export type StatsOnly = Omit<ReportQuery, "by">;

interface Props {
  report: Report;
  by: string;
  only: StatsOnly;
  route: ReportRoute;
}

/** How many rows there are until all are asked for. */
const FIRST = 10;

const COUNTS: [name: string, figure: string, state: string | null][] = [
  ["Calls", "calls", null],
  ["Failed", "failed", "failed"],
  ["Denied", "denied", "denied"],
];

export function StatsTable({ report, by, only, route }: Props) {
  const { open, state = null, all } = route.choices;
  const rows = by === "tool" ? byServer(report.rows) : report.rows;
  const shown = all ? rows : rows.filter((row, at) => at < FIRST || row[by] === open);
  return (
    <>
    <div className="scrolls" tabIndex={0} role="region" aria-label="Statistics table">
      <table className="figures">
        <FigureHead group={capitalized(by.replace("_", " "))} figures={[...COUNTS.map(([name]) => name), "Retries", "Time", "Lines", "Cost"]} />
        <tbody>
          {shown.map((row) => {
            const group = row[by] === null ? "" : String(row[by]);
            return (
              <GroupRows key={group} row={row} by={by} group={group} only={only} route={route} state={open === group ? state : undefined} />
            );
          })}
        </tbody>
      </table>
    </div>
    {rows.length > FIRST && (
      <p>
        <a className="show-more" href={reportHref(route, { all: all ? null : "1" })}>
          {all ? `Only the first ${FIRST}` : `All ${exact(rows.length)}`}
        </a>
      </p>
    )}
    </>
  );
}

/** The tools of an MCP server as one row, which leads to the servers. */
function byServer(rows: ReportRow[]): ReportRow[] {
  const servers = new Map<string, ReportRow[]>();
  for (const row of rows) {
    const name = serverOf(row);
    if (name) servers.set(name, [...(servers.get(name) ?? []), row]);
  }
  return rows.flatMap((row) => {
    const name = serverOf(row);
    const tools = (name && servers.get(name)) || [];
    if (!name || tools.length < 2) return [row];
    return tools[0] === row ? [{ ...sumBy(tools, () => name)[0], tool: `${SERVER}${name}`, tools: tools.length }] : [];
  });
}

const SERVER = "mcp__";
const serverOf = (row: ReportRow): string | null => /^mcp__(.+?)__/.exec(String(row.tool ?? ""))?.[1] ?? null;

interface RowProps {
  row: ReportRow;
  by: string;
  group: string;
  only: StatsOnly;
  route: ReportRoute;
  /** The state of the calls that are listed, null for all; undefined if none are. */
  state: string | null | undefined;
}

function GroupRows({ row, by, group, only, route, state }: RowProps) {
  const server = row.tools ? group.slice(SERVER.length) : null;
  const lines = [
    Number(row.lines_added) ? `+${exact(Number(row.lines_added))}` : "",
    Number(row.lines_removed) ? `−${exact(Number(row.lines_removed))}` : "",
  ];
  return (
    <>
      <tr>
        <PlainText as="td" className="group" title={group} text={server ? `${server} (MCP, ${Number(row.tools)} tools)` : groupName(by, group)} />
        {COUNTS.map(([name, figure, wanted]) => {
          const count = Number(row[figure] ?? 0);
          const isOpen = state === wanted;
          return (
            <td key={name} className="num">
              {count > 0 && group !== NO_CALL ? (
                <a
                  href={reportHref(route, isOpen ? { open: null, state: null } : server ? { by: "mcp_server", open: server, state: wanted } : { open: group, state: wanted })}
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
        <td className="num">{row.cost_usd === null ? "?" : money(Number(row.cost_usd ?? 0))}</td>
      </tr>
      {state !== undefined && (
        <tr>
          <td colSpan={COUNTS.length + 5}>
            <CallList by={by} group={group} state={state} only={only} />
          </td>
        </tr>
      )}
    </>
  );
}

function CallList({ by, group, state, only }: { by: string; group: string; state: string | null; only: StatsOnly }) {
  const source = useSource();
  const loaded = useAsync(`${by} ${group} ${state} ${JSON.stringify(only)}`, () => source.countedCalls(by, group || null, state, only));
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

export function CallLink({ call }: { call: CountedCall }) {
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
      {call.time_ms !== null && (
        <span className="muted num" title={fullTime(new Date(call.time_ms).toISOString())}>
          {" "}
          {ago(new Date(call.time_ms).toISOString())}
        </span>
      )}
    </>
  );
}

function groupName(by: string, group: string): string {
  if (!group) return `no ${by.replace("_", " ")}`;
  if (by === "model") return model(group);
  if (by === "file") return group.split(/[\\/]/).slice(-2).join("/");
  return by === "project" ? folder(group) : group;
}
