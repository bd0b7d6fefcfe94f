/** Addresses of pages: the part after the `#`, which is the same on a server and in an exported file. */

import { useSyncExternalStore } from "react";
import { listen } from "./kit/listen";
import { asDensity, type Density } from "./kit/settings";
import { FILTER_NAMES, type Filters } from "./data/listFilters";
import { ORDERS, type Order, type Target, type ThreadRef } from "./data/source";

export type { Filters } from "./data/listFilters";

export type Route =
  | ListRoute
  | ReportRoute
  | ReviewRoute
  | CompareRoute
  | { page: "unknown" }
  | { page: "session"; thread: ThreadRef; target: Target; query: string; density: Density | null; timeline: boolean; panel: Panel | null };

/** The tabs of the panel beside a session. */
export const PANEL_TABS = ["files", "context", "about", "share"] as const;
export type PanelTab = (typeof PANEL_TABS)[number];

/** What the panel beside a session shows: a tab, and what is chosen in it. */
export interface Panel {
  tab: PanelTab;
  chosen: string;
}

/** A list of sessions: what was typed, what it is narrowed to, how the sessions are grouped and sorted, and how the texts that were found. */
export interface ListRoute {
  page: "library";
  filter: string;
  group: string;
  sort: string;
  order: Order;
  only: Filters;
}
/** A report, or the settings: the choices made on its page, by name. */
export interface ReportRoute {
  page: "insights" | "files" | "team" | "settings";
  choices: Record<string, string>;
}
/** The turns behind a commit that a session made, or behind all of them. */
export interface ReviewRoute {
  page: "review";
  session: string;
  commit: string;
}
/** Two sessions beside each other. */
export interface CompareRoute {
  page: "compare";
  one: string;
  other: string;
}
export type SessionRoute = Extract<Route, { page: "session" }>;

export function parseRoute(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const pieces = path.split("/").filter(Boolean).map(decode);
  const params = new URLSearchParams(search);
  if (pieces[0] === "s" && pieces[1]) {
    const agent = pieces[2] === "a" ? pieces[3] : undefined;
    return {
      page: "session",
      thread: { session: pieces[1], agent, branch: whole(params.get("branch")) },
      target: {
        message: params.get("at") ?? undefined,
        call: params.get("call") ?? undefined,
        line: whole(params.get("line")),
        turn: whole(params.get("turn")),
      },
      query: params.get("q") ?? "",
      density: asDensity(params.get("view")),
      timeline: params.get("view") === TIMELINE,
      panel: panelOf(params),
    };
  }
  if (pieces[0] === "review" && pieces[1] && pieces.length <= 3) return { page: "review", session: pieces[1], commit: pieces[2] ?? "" };
  if (pieces[0] === "compare" && pieces[1] && pieces[2] && pieces.length === 3) return { page: "compare", one: pieces[1], other: pieces[2] };
  const [first = "library", ...rest] = pieces;
  if (rest.length || !Object.hasOwn(PAGES, first)) return { page: "unknown" };
  const page = first as keyof typeof PAGES;
  if (page === "stats") return { page: "insights", choices: callsOf(Object.fromEntries(params)) };
  if (page !== "library" && page !== "captured") return { page: page === "usage" ? "insights" : page, choices: Object.fromEntries(params) };
  const order = ORDERS.find((name) => name === params.get("order")) ?? ORDERS[0];
  const only: Filters = page === "captured" ? { captured: "1" } : {};
  for (const name of FILTER_NAMES) if (params.get(name)) only[name] = params.get(name) ?? "";
  return { page: "library", filter: params.get("q") ?? "", group: params.get("group") ?? "", sort: params.get("sort") ?? "", order, only };
}

/** What an address of the page of statistics chose, as `insights` names it. */
function callsOf({ by, all, ...others }: Record<string, string>): Record<string, string> {
  return { ...others, ...(by && { calls: by }), ...(all && { rows: all }) };
}

/** The view that shows the session over time. */
const TIMELINE = "timeline";

/** `captured` was a page and is a filter now, `usage` and `stats` are parts of `insights`; their addresses lead there. */
const PAGES = { library: "", captured: "captured", insights: "insights", files: "files", usage: "usage", stats: "stats", team: "team", settings: "settings" };

/** The address of a report with some choices changed; null takes a choice back. */
export function reportHref({ page, choices }: ReportRoute, changes: Record<string, string | null>): string {
  const chosen = Object.entries({ ...choices, ...changes }).filter((entry): entry is [string, string] => entry[1] !== null);
  const search = new URLSearchParams(chosen).toString();
  return `#/${PAGES[page]}${search ? `?${search}` : ""}`;
}

/** The address of a list of sessions; what is empty is left out. */
export function listHref({ filter = "", group = "", sort = "", order = ORDERS[0], only = {} }: Partial<ListRoute> = {}): string {
  const named = { q: filter, ...only, group, sort, order: order === ORDERS[0] ? "" : order };
  const search = new URLSearchParams(Object.entries(named).filter(([, value]) => value)).toString();
  return `#/${search ? `?${search}` : ""}`;
}

export function sessionHref(thread: ThreadRef, target: Target = {}, query = "", density: Density | null = null): string {
  const params = new URLSearchParams();
  if (thread.branch !== undefined) params.set("branch", String(thread.branch));
  if (target.message) params.set("at", target.message);
  if (target.call) params.set("call", target.call);
  if (target.line) params.set("line", String(target.line));
  if (target.turn) params.set("turn", String(target.turn));
  if (query) params.set("q", query);
  if (density) params.set("view", density);
  const agent = thread.agent ? `/a/${encodeURIComponent(thread.agent)}` : "";
  const search = params.toString();
  return `#/s/${encodeURIComponent(thread.session)}${agent}${search ? `?${search}` : ""}`;
}

/** The address of the turns behind a commit, or behind all that a session made. */
export const reviewHref = (session: string, commit = ""): string => `#/review/${encodeURIComponent(session)}${commit && `/${encodeURIComponent(commit)}`}`;

/** The address of two sessions beside each other. */
export const compareHref = (one: string, other: string): string => `#/compare/${encodeURIComponent(one)}/${encodeURIComponent(other)}`;

/** The address of the timeline of a thread. */
export const timelineHref = (thread: ThreadRef): string => {
  const href = sessionHref(thread);
  return `${href}${href.includes("?") ? "&" : "?"}view=${TIMELINE}`;
};

/** Requests had a tab of their own; a request and its context are one now, and the address leads there. */
const REQUESTS = "requests";

function panelOf(params: URLSearchParams): Panel | null {
  const named = params.get("panel") === REQUESTS ? "context" : params.get("panel");
  const tab = PANEL_TABS.find((name) => name === named);
  return tab ? { tab, chosen: params.get("show") ?? "" } : null;
}

/** The address of the same place in a session with another panel beside it, or with none. */
export function withPanel(href: string, panel: Panel | null): string {
  const [path = "", search = ""] = href.split("?", 2);
  const params = new URLSearchParams(search);
  params.delete("panel");
  params.delete("show");
  if (panel) params.set("panel", panel.tab);
  if (panel?.chosen) params.set("show", panel.chosen);
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

/** Go to an address without leaving the place where the page is scrolled; in place of the current one, Back passes it by. */
export function stayAt(href: string, { inPlace = false } = {}): void {
  if (inPlace) history.replaceState(history.state, "", href);
  else history.pushState(history.state, "", href);
  dispatchEvent(new PopStateEvent("popstate"));
}

export const hasTarget = (target: Target): boolean => Object.values(target).some((value) => value !== undefined);

function decode(piece: string): string {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece; // a stray % in a hand-written address
  }
}

function whole(text: string | null): number | undefined {
  return text && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

const subscribe = (changed: () => void) => listen({ hashchange: changed, popstate: changed });

/** The current address. */
export const useHash = (): string => useSyncExternalStore(subscribe, () => location.hash);
