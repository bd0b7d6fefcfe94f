/** The API requests that the client noted: all of them as a list, and one with what it changed and all that it had. */

import { useThreadStore } from "../contexts";
import { Count } from "../kit/Figure";
import { exact, fullTime, model, timeOfDay } from "../kit/format";
import { useKept } from "../kit/kept";
import { PlainText } from "../kit/PlainText";
import { useAsync, useLastReady } from "../kit/useAsync";
import { CutsContext } from "../nodes/nodeProps";
import { NodeList } from "../nodes/NodeList";
import type { RequestInfo, RequestList } from "../data/values";
import { PanelLink, PlaceLink } from "./PanelLink";

/** The requests are listed again after this many new messages. */
const STEP = 10;

/** All requests; `current` is the number of the one whose context is shown. */
export function AllRequests({ current }: { current: number | null }) {
  const { source, thread, total } = useThreadStore();
  const [pages, setPages] = useKept("pages of requests", 1);
  const load = (start: number): Promise<RequestList> => source.requests?.(thread, start) ?? Promise.reject(new Error("Not known here."));
  const loadPages = async (): Promise<RequestList> => {
    let all = await load(0);
    for (let page = 1; page < pages; page += 1) all = { ...all, requests: [...all.requests, ...(await load(all.requests.length)).requests] };
    return all;
  };
  const loaded = useLastReady(useAsync(`requests ${pages}`, loadPages, Math.floor(total / STEP)));
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  if (loaded.state === "loading") return <p className="muted loading">Loading…</p>;
  const { requests } = loaded.value;
  return (
    <>
      <table className="requests">
        <thead>
          <tr>
            <th scope="col" className="num">#</th>
            <th scope="col">Turn</th>
            <th scope="col">Sent</th>
            <th scope="col">Model</th>
            <th scope="col" className="num">Prompt</th>
            <th scope="col" className="num">Cached</th>
            <th scope="col" className="num">Output</th>
          </tr>
        </thead>
        <tbody>
          {requests.map((request, at) => (
            <RequestRow key={request.number} request={request} before={requests[at - 1]} current={request.number === current} />
          ))}
        </tbody>
      </table>
      {requests.length < loaded.value.total && (
        <button type="button" className="show-more" onClick={() => setPages(pages + 1)}>
          Show more of {exact(loaded.value.total)}
        </button>
      )}
    </>
  );
}

/** The turn and the model only where they change. */
function RequestRow({ request, before, current }: { request: RequestInfo; before: RequestInfo | undefined; current: boolean }) {
  const { thread } = useThreadStore();
  const { number, turn, time, tokens, read_tokens: read, output_tokens: output, cache_breaks: breaks } = request;
  return (
    <tr aria-current={current ? "true" : undefined}>
      <td className="num">
        <PanelLink panel={{ tab: "context", chosen: String(number) }} title="See this request">
          {number}
        </PanelLink>
      </td>
      <td>
        {turn !== null && turn !== before?.turn && (
          <PlaceLink thread={thread} target={{ turn }} title="Go to this turn">
            {turn}
          </PlaceLink>
        )}
      </td>
      <td className="num muted">{time && <time dateTime={time} title={fullTime(time)}>{timeOfDay(time)}</time>}</td>
      <td className="muted">{request.model && request.model !== before?.model && <PlainText text={model(request.model)} title={request.model} />}</td>
      <td className="num">
        <Count value={tokens} unit="tokens" />
      </td>
      <td className="num muted">
        {breaks.map((text) => (
          <span key={text} className="cache-mark" role="img" aria-label={text} title={text}>
            !{" "}
          </span>
        ))}
        {tokens !== null && tokens > 0 ? `${Math.round((read / tokens) * 100)} %` : "–"}
      </td>
      <td className="num">
        <Count value={tokens === null ? null : output} unit="tokens" />
      </td>
    </tr>
  );
}

/** What a request sent: what it changed since the one before, or all of it. */
export function OneRequest({ number }: { number: number }) {
  const { source, thread } = useThreadStore();
  const [wanted, setWanted] = useKept("changes of requests", true);
  const [whole, setWhole] = useKept(`whole request ${number}`, false);
  const changes = wanted && number > 1;
  const load = () => source.request?.(thread, number, changes, whole) ?? Promise.reject(new Error("Not known here."));
  const loaded = useLastReady(useAsync(`${number} ${changes} ${whole}`, load));
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  if (loaded.state === "loading") return <p className="muted loading">Loading…</p>;
  const { info, cut, nodes } = loaded.value;
  return (
    <div className="one-request" aria-busy={!loaded.isCurrent}>
      {info.purpose && <PlainText as="p" className="muted" text={info.purpose} />}
      {number > 1 && (
        <p className="chips" role="group" aria-label="What to show">
          <button type="button" className="chip" aria-pressed={changes} onClick={() => setWanted(true)}>
            Changes since the one before
          </button>
          <button type="button" className="chip" aria-pressed={!changes} onClick={() => setWanted(false)}>
            All of it
          </button>
        </p>
      )}
      <CutsContext value={{ cuts: cut, loadWhole: () => setWhole(true) }}>
        <NodeList nodes={nodes} place={`request${info.number}-${changes ? "changes" : "all"}`} />
      </CutsContext>
    </div>
  );
}
