/** Reading from `reread serve`. */

import type { Filter, Source, Target, Thread } from "./source";
import { Missing } from "./source";

type Query = Record<string, string | number | boolean | null | undefined>;

const sessionPath = (at: Thread) => `api/sessions/${encodeURIComponent(at.session)}`;

function search(query: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== false && value !== "") {
      params.set(name, value === true ? "1" : String(value));
    }
  }
  const text = params.toString();
  return text ? `?${text}` : "";
}

const inThread = (at: Thread, query: Query = {}) => search({ agent: at.agent, branch: at.branch, ...query });

async function ask(address: string): Promise<Response> {
  const answer = await fetch(address).catch(() => {
    throw new Error("The server does not answer. Is reread still running?");
  });
  if (answer.ok) return answer;
  const said = reason(await answer.text());
  if (answer.status === 404) throw new Missing(said || "Nothing is here.");
  throw new Error(said || `The server answered ${answer.status}.`);
}

/** Why, in the server's words. */
function reason(body: string): string {
  try {
    return String((JSON.parse(body) as { error: unknown }).error);
  } catch {
    return body.slice(0, 500); // the guard answers in plain text
  }
}

const json = async <T>(address: string): Promise<T> => (await ask(address)).json() as Promise<T>;

const text = async (address: string): Promise<string> => (await ask(address)).text();

/** The value, or null where the server has none. */
const orNull = <T>(value: Promise<T>): Promise<T | null> =>
  value.catch((error: unknown) => {
    if (error instanceof Missing) return null;
    throw error;
  });

const filterQuery = (filter: Filter): Query => ({
  kinds: filter.kinds.join(","),
  tools: filter.tools.join(","),
  errors: filter.errors,
});

function listen(address: string, heard: Record<string, (value: never) => void>): () => void {
  const events = new EventSource(address);
  for (const [name, handle] of Object.entries(heard)) {
    events.addEventListener(name, (event) => {
      const data = (event as MessageEvent<string>).data;
      handle((data ? JSON.parse(data) : null) as never);
    });
  }
  return () => events.close();
}

export const httpSource: Source = {
  can: { library: true, usage: true, raw: true, live: true },
  home: "#/",
  only: null,
  library: () => json("api/library"),
  overview: (at) => json(sessionPath(at) + inThread(at)),
  page: (at, start, count, whole) => json(`${sessionPath(at)}/passages${inThread(at, { start, count, whole })}`),
  outline: (at, start, count) => json(`${sessionPath(at)}/outline${inThread(at, { start, count })}`),
  call: (at, index, whole) => json(`${sessionPath(at)}/calls/${index}${inThread(at, { whole })}`),
  lines: (at, target, whole) => json(`${sessionPath(at)}/lines${inThread(at, { ...target, whole })}`),
  place: (at, target: Target) => orNull(json(`${sessionPath(at)}/place${inThread(at, { ...target })}`)),
  find: (at, q, start) => json(`${sessionPath(at)}/find${inThread(at, { q, start })}`),
  filter: (at, filter, start) => json(`${sessionPath(at)}/filter${inThread(at, { ...filterQuery(filter), start })}`),
  markdown: (at, target) => text(`${sessionPath(at)}/markdown${inThread(at, { ...target })}`),
  spent: (at) => json(`${sessionPath(at)}/spent${inThread(at)}`),
  problems: (at) => json(`${sessionPath(at)}/problems${inThread(at)}`),
  usage: (by, since) => json(`api/usage${search({ by, since })}`),
  picture: (url) => Promise.resolve(url),
  exported: (at) => `${sessionPath(at)}/export${inThread(at)}`,
  watch: (at, news) =>
    listen(`${sessionPath(at)}/events${inThread(at)}`, {
      grown: (value) => news.grown?.(value),
      opening: (value) => news.opening?.(value),
    }),
  watchLibrary: (news) => listen("api/events", { listed: news.listed, library: news.changed }),
};
