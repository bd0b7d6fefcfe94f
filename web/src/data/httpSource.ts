/** The source for pages of `reread serve`: its HTTP API. */

import { timeZone } from "../kit/format";
import { Store } from "../kit/store";
import { NotFound, type Fault, type Filter, type Source, type ThreadRef } from "./source";
import { inSlot } from "./streamSlots";
import type { LibraryNow, TimelineUpdate } from "./values";

type Handlers = Record<string, (value: never) => void>;
type Query = Record<string, string | number | boolean | null | undefined>;

const sessionPath = (thread: ThreadRef) => `api/sessions/${encodeURIComponent(thread.session)}`;

function queryString(query: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== false && value !== "") {
      params.set(name, value === true ? "1" : String(value));
    }
  }
  const text = params.toString();
  return text ? `?${text}` : "";
}

/** The address of something in a thread. */
const inThread = (thread: ThreadRef, path: string, query: Query = {}) =>
  sessionPath(thread) + path + queryString({ agent: thread.agent, branch: thread.branch, ...query });

declare global {
  interface Window {
    /** The request for the session in the address that `public/assets/early.js` made before this script was loaded. */
    early?: { address: string; response: Promise<Response> };
  }
}

/** The response to a request that was made early, if it is for the first session that is asked for: later it is old. */
function takeEarly(address: string): Promise<Response> | undefined {
  const { early } = window;
  if (!early || !address.startsWith("api/sessions/")) return undefined;
  window.early = undefined;
  return early.address === address ? early.response.catch(() => fetch(address)) : undefined;
}

async function get(address: string, init?: RequestInit): Promise<Response> {
  const response = await (takeEarly(address) ?? fetch(address, init)).catch(() => {
    void connection.ask();
    throw new Error("No response from the server. Is reread still running?");
  });
  if (response.ok) return response;
  const message = errorMessage(await response.text());
  if (response.status === 404) throw new NotFound(message || "Not found.");
  throw new Error(message || `The server returned an error (${response.status}).`);
}

function errorMessage(body: string): string {
  try {
    return String((JSON.parse(body) as { error: unknown }).error);
  } catch {
    return body.slice(0, 500); // the guard answers in plain text
  }
}

function getNow<T>(address: string): T {
  const request = new XMLHttpRequest();
  request.open("GET", address, false);
  request.send();
  if (request.status !== 200) throw new Error(errorMessage(request.responseText));
  return JSON.parse(request.responseText) as T;
}

const getJson = async <T>(address: string): Promise<T> => (await get(address)).json() as Promise<T>;

const postJson = async <T>(address: string, body: unknown): Promise<T> =>
  (await get(address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })).json() as Promise<T>;

const getText = async (address: string): Promise<string> => (await get(address)).text();

const nullIfNotFound = <T>(value: Promise<T>): Promise<T | null> =>
  value.catch((error: unknown) => {
    if (error instanceof NotFound) return null;
    throw error;
  });

const filterQuery = (filter: Filter): Query => ({
  kinds: filter.kinds.join(","),
  tools: filter.tools.join(","),
  errors: filter.errors,
  stopped: filter.stopped,
});

/** How long a stream of events may take to be opened again before the server counts as gone, in milliseconds. */
const GRACE = 2000;
/** How soon a stream that the browser gave up is opened again. */
const RETRY = 3000;

/** Whether the server answers. */
class StreamConnection extends Store {
  fault: Fault | null = null;
  private timer = 0;

  set(fault: Fault | null): void {
    if (fault === this.fault) return;
    this.fault = fault;
    this.changed();
  }

  /** Ask why there was no answer, which the browser does not say, and again until there is one. */
  async ask(): Promise<void> {
    clearTimeout(this.timer);
    const status = await fetch("api/").then(
      (response) => response.status,
      () => 0,
    );
    this.set(status === 401 ? "token" : status === 0 ? "gone" : null);
    if (this.fault) this.timer = window.setTimeout(() => void this.ask(), RETRY);
  }
}

const connection = new StreamConnection();

/** What runs now. */
class RunningSessions extends Store {
  now: LibraryNow | null = null;

  readonly set = (now: LibraryNow | null): void => {
    if (now === this.now) return;
    this.now = now;
    this.changed();
  };
}

const running = new RunningSessions();

/** Listen to a stream of events until the returned function is called, as long as this tab may; `reopened` is called if some may have been missed. */
function listen(address: string, handlers: Handlers, reopened?: () => void): () => void {
  const state = { wasOpen: false };
  return inSlot(() => listenNow(address, handlers, state, reopened));
}

/** The same, at once; the stream is opened again if the server was gone. */
function listenNow(address: string, handlers: Handlers, state: { wasOpen: boolean }, reopened?: () => void): () => void {
  let events = open(address, handlers);
  let timer = 0;
  const check = () => {
    if (events.readyState === EventSource.CLOSED) {
      events = open(address, handlers);
      watch();
    }
    if (events.readyState === EventSource.OPEN) return;
    void connection.ask();
    timer = window.setTimeout(check, RETRY);
  };
  const watch = () => {
    events.onopen = (event) => {
      clearTimeout(timer);
      timer = 0;
      connection.set(null);
      if (event instanceof MessageEvent) return; // an event of the session that is called so, too
      if (state.wasOpen) running.set(null); // the server says what runs, unless it is nothing
      if (state.wasOpen) reopened?.();
      state.wasOpen = true;
    };
    events.onerror = () => {
      timer ||= window.setTimeout(check, GRACE);
    };
  };
  watch();
  return () => {
    clearTimeout(timer);
    events.close();
  };
}

function open(address: string, handlers: Handlers): EventSource {
  const events = new EventSource(address);
  for (const [name, handle] of Object.entries(handlers)) {
    events.addEventListener(name, (event) => {
      const data = (event as MessageEvent<string>).data;
      handle((data ? JSON.parse(data) : null) as never);
    });
  }
  return events;
}

export const httpSource: Source = {
  can: { library: true, usage: true, raw: true, live: true, files: true, annotate: true, link: true },
  connection,
  running,
  home: "#/",
  onlySession: null,
  library: () => getJson("api/library"),
  countFirst: (sessions) => getJson(`api/library/shown${queryString({ keys: sessions.join() })}`),
  searchAll: (q, order, count) => getJson(`api/search${queryString({ q, order, count })}`),
  overview: (thread, brief) => getJson(inThread(thread, "", { brief })),
  page: (thread, start, count, whole) => getJson(inThread(thread, "/items", { start, count, whole })),
  context: (thread, at) => getJson(inThread(thread, "/context", at)),
  requests: (thread, start) => getJson(inThread(thread, "/requests", { start })),
  request: (thread, number, changes, whole) => getJson(inThread(thread, `/requests/${number}`, { changes, whole })),
  waterfall: (thread) => getJson(inThread(thread, "/waterfall")),
  pageNow: (thread, start, count) => getNow(inThread(thread, "/items", { start, count })),
  outline: (thread, start, count) => getJson(inThread(thread, "/outline", { start, count })),
  call: (thread, index, whole) => getJson(inThread(thread, `/calls/${index}`, { whole })),
  lines: (thread, target, whole) => getJson(inThread(thread, "/lines", { ...target, whole })),
  place: (thread, target) => nullIfNotFound(getJson(inThread(thread, "/place", { ...target }))),
  search: (thread, q, start) => getJson(inThread(thread, "/search", { q, start })),
  filter: (thread, filter, start) => getJson(inThread(thread, "/filter", { ...filterQuery(filter), start })),
  markdown: (thread, target) => getText(inThread(thread, "/markdown", { ...target })),
  usage: (thread) => getJson(inThread(thread, "/usage")),
  problems: (thread) => getJson(inThread(thread, "/problems")),
  files: (thread) => getJson(inThread(thread, "/files")),
  fileVersion: (thread, file, version, whole) => getJson(inThread(thread, `/files/${file}/${version}`, { whole })),
  fileDiff: (thread, file) => getJson(inThread(thread, `/files/${file}/diff`)),
  fileBlame: (thread, file) => getJson(inThread(thread, `/files/${file}/blame`)),
  team: document.documentElement.hasAttribute("data-team") ? (query) => getJson(`api/team${queryString({ ...query })}`) : undefined,
  compare: (one, other) => getJson(`${sessionPath({ session: one })}/compare/${encodeURIComponent(other)}`),
  review: (session, commit) => getJson(`${sessionPath({ session })}/review${queryString({ commit })}`),
  report: (name, query) => getJson(`api/reports/${name}${queryString({ ...query, tz: timeZone })}`),
  setup: () => getJson("api/setup"),
  settings: () => getJson("api/settings"),
  changeSettings: (change) => postJson("api/settings", change),
  annotation: (session) => getJson(`${sessionPath({ session })}/annotation`),
  annotate: (session, change) => postJson(`${sessionPath({ session })}/annotation`, change),
  pictureUrl: (url) => Promise.resolve(url),
  exportUrl: (thread) => inThread(thread, "/export"),
  watchSession: (thread, events) =>
    listen(inThread(thread, "/events"), {
      open: (value: TimelineUpdate | null) => value && events.opened?.(value), // the browser's own event has no data
      update: (value) => events.update?.(value),
      opening: (value) => events.opening?.(value),
      now: running.set,
    }),
  watchLibrary: (events) =>
    listen("api/events", { row: events.row, library: events.changed, grown: events.grown, now: running.set }, events.changed),
};
