/** The calls behind a figure, each with a link to its place. */

import { useSource } from "../contexts";
import { exact, fullTime } from "../kit/format";
import { PlainText } from "../kit/PlainText";
import { useAsync } from "../kit/useAsync";
import { sessionHref } from "../route";
import type { CountedCall, ReportQuery } from "../data/source";
import { callTime, groupName } from "./figures";

export function CountedCalls({ query }: { query: ReportQuery }) {
  const source = useSource();
  const loaded = useAsync(JSON.stringify(query), () => source.report<{ calls: CountedCall[]; total: number }>("calls", query));
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
  const words = [call.tool, call.failure ?? call.state, call.file ? groupName("file", { file: call.file }) : ""].filter(Boolean).join(" · ");
  const name = (
    <>
      <PlainText text={call.title || call.session} /> <PlainText className="muted" text={words} />
    </>
  );
  return (
    <>
      {call.key === null ? name : <a href={sessionHref({ session: call.key, agent: call.agent ?? undefined }, { call: call.id })}>{name}</a>}
      {call.time_ms !== null && (
        <span className="muted num" title={fullTime(new Date(call.time_ms).toISOString())}>
          {" "}
          {callTime(call)}
        </span>
      )}
    </>
  );
}
