/** The API requests that the client noted: a list, or one of them with what it changed and all that it had. */

import { useThreadStore } from "../contexts";
import { Count } from "../kit/Figure";
import { capitalized, exact, fullTime, model, timeOfDay } from "../kit/format";
import { useKept } from "../kit/kept";
import { PlainText } from "../kit/PlainText";
import { useAsync, useLastReady } from "../kit/useAsync";
import { CutsContext } from "../nodes/nodeProps";
import { NodeList } from "../nodes/NodeList";
import type { RequestBody, RequestInfo, RequestList } from "../data/values";
import { Proof } from "./ContextTab";
import { PanelLink, PlaceLink, usePanel } from "./PanelLink";
import { Steps } from "./Steps";

/** The requests are listed again after this many new messages. */
const STEP = 10;

export function RequestsTab({ chosen }: { chosen: string }) {
  return (
    <section className="requests-tab" aria-label="Requests">
      {/^\d{1,9}$/.test(chosen) ? <OneRequest number={Number(chosen)} /> : <AllRequests />}
    </section>
  );
}

function AllRequests() {
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
  if (!requests.length)
    return <p className="note">No API requests are recorded in this session. Claude Code records them since version 2.1.325.</p>;
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
            <RequestRow key={request.number} request={request} before={requests[at - 1]} />
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
function RequestRow({ request, before }: { request: RequestInfo; before: RequestInfo | undefined }) {
  const { thread } = useThreadStore();
  const { number, turn, time, tokens, read_tokens: read, output_tokens: output, cache_breaks: breaks } = request;
  return (
    <tr className={breaks.length ? "broken" : undefined}>
      <td className="num">
        <PanelLink panel={{ tab: "requests", chosen: String(number) }} title="See this request">
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

function OneRequest({ number }: { number: number }) {
  const { source, thread } = useThreadStore();
  const [changes, setChanges] = useKept(`changes of request ${number}`, number > 1);
  const [whole, setWhole] = useKept(`whole request ${number}`, false);
  const load = () => source.request?.(thread, number, changes, whole) ?? Promise.reject(new Error("Not known here."));
  const loaded = useLastReady(useAsync(`${number} ${changes} ${whole}`, load));
  if (loaded.state === "failed") return <p className="note error">{loaded.error.message}</p>;
  if (loaded.state === "loading") return <p className="muted loading">Loading…</p>;
  const body = loaded.value;
  const shown = `request${body.info.number}-${changes ? "changes" : "all"}`;
  return (
    <>
      <RequestPlace body={body} />
      {body.info.cache_breaks.map((text) => (
        <p key={text} className="cache-break">
          <PlainText text={capitalized(text)} />
        </p>
      ))}
      <p className="chips" role="group" aria-label="What to show">
        <button type="button" className="chip" aria-pressed={changes} onClick={() => setChanges(true)}>
          Changes since the one before
        </button>
        <button type="button" className="chip" aria-pressed={!changes} onClick={() => setChanges(false)}>
          All of it
        </button>
      </p>
      <CutsContext value={{ cuts: body.cut, loadWhole: () => setWhole(true) }}>
        <NodeList nodes={body.nodes} place={shown} />
      </CutsContext>
    </>
  );
}

function RequestPlace({ body }: { body: RequestBody }) {
  const { thread } = useThreadStore();
  const show = usePanel();
  const { number, turn, purpose } = body.info;
  const step = (by: number) => show({ tab: "requests", chosen: String(number + by) }, { inPlace: true });
  return (
    <>
      <p className="panel-place">
        <span>
          {turn !== null && (
            <>
              <PlaceLink thread={thread} target={{ turn }} title="Go to this turn">
                Turn {turn}
              </PlaceLink>
              {" · "}
            </>
          )}
          <strong>
            request {number} of {body.requests}
          </strong>
        </span>
        <Proof context={body} />
        <Steps what="request" at={number} last={body.requests} onStep={step} />
      </p>
      <p className="muted panel-facts">
        {body.info.tokens !== null && (
          <PanelLink panel={{ tab: "context", chosen: String(number) }} title="See what filled the context">
            <Count value={body.info.tokens} unit="tokens" /> tokens
          </PanelLink>
        )}
        {purpose && (
          <span>
            <PlainText text={purpose} />
          </span>
        )}
        <PanelLink panel={{ tab: "requests", chosen: "" }}>All requests</PanelLink>
      </p>
    </>
  );
}
