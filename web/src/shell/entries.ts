/** The entries of the palette: sessions, pages and actions that match what was typed. */

import { ago, exact, folder } from "../kit/format";
import { compareHref, listHref, parseRoute, sessionHref } from "../route";
import type { Source } from "../data/source";
import type { FoundText, LibraryNow, LibraryRow, NowSession } from "../data/values";
import type { Span } from "../search/textMatcher";
import type { Action } from "./actions";

/** How many sessions are listed, and of what one can do here before anything is typed. */
const SESSIONS = 7;
const FIRST_ACTIONS = 5;
/** Words of a question: they count only if there are no others. */
const QUESTION_WORDS = new Set("a an and are did do for how i in is it of on or the to was we what when where which with".split(" "));

export interface Entry {
  key: string;
  name: string;
  /** What tells it from others of the same name. */
  detail: string;
  /** Where the words are in the name. */
  marks: Span[];
  /** The address that it leads to, or what it does. */
  target: string | (() => void);
}

export interface EntryGroup {
  name: string;
  entries: Entry[];
}

const PAGES: [name: string, detail: string, href: string][] = [
  ["Sessions", "all sessions", listHref()],
  ["Files", "which sessions changed a file, recent edits", "#/files"],
  ["Insights", "usage, cost, statistics, failures, advice", "#/insights"],
  ["Settings", "theme, budgets, prices, folders", "#/settings"],
  ["Starred sessions", "sessions with a star", listHref({ only: { starred: "1" } })],
  ["Captured sessions", "what was captured", listHref({ only: { captured: "1" } })],
];

/** The groups that have entries, in order. */
export function entryGroups(text: string, sessions: LibraryRow[], actions: Action[], { can }: Source, now: LibraryNow | null = null, hits: Hit[] = []): EntryGroup[] {
  const query = text.trim();
  const pages = can.library ? PAGES : [];
  const running = new Set(now?.sessions.flatMap(({ key }) => key ?? []));
  const here: EntryGroup = {
    name: "Actions",
    entries: ranked(query, actions.map(({ name, keys = "", also, run }) => ({ key: name, name, detail: keys, also, target: run }))),
  };
  const groups: EntryGroup[] = [
    { name: `Now: ${now?.summary ?? ""}`, entries: ranked(query, (now?.sessions ?? []).flatMap(nowEntry)) },
    ...(query ? [] : [{ ...here, entries: here.entries.slice(0, FIRST_ACTIONS) }]),
    { name: "Sessions", entries: ranked(query, folded(sessions.filter(({ key }) => !running.has(key))).map(sessionEntry)).slice(0, SESSIONS) },
    { name: "Pages", entries: ranked(query, pages.map(([name, detail, target]) => ({ key: target, name, detail, target }))) },
    ...(query ? [here] : []),
    { name: "Search", entries: can.library && query ? [searchEntry(query), ...hits.map((hit) => hitEntry(hit, query))] : [] },
  ];
  return groups.filter(({ entries }) => entries.length);
}

/** The other sessions, to compare one with: those of the same title first, then those of its project. */
export function comparedGroups(text: string, sessions: LibraryRow[], compared: string): EntryGroup[] {
  const own = sessions.find(({ key }) => key === compared);
  const alike = (row: LibraryRow) => (row.title === own?.title ? 2 : 0) + (row.project === own?.project ? 1 : 0);
  const others = sessions.filter(({ key }) => key !== compared).sort((a, b) => alike(b) - alike(a));
  const entries = ranked(text.trim(), others.map((row) => ({ ...sessionEntry({ ...row, same: 1 }), target: compareHref(compared, row.key) })));
  return entries.length ? [{ name: "Compare with", entries: entries.slice(0, SESSIONS) }] : [];
}

/** A text that was found, and the title of its session. */
export interface Hit {
  text: FoundText;
  title: string;
}

/** So many characters before a hit are shown. */
const BEFORE = 24;

function hitEntry({ text: { link, before, match, after }, title }: Hit, query: string): Entry {
  const lead = before.length > BEFORE ? `…${before.slice(-BEFORE)}` : before;
  const route = parseRoute(link);
  return {
    key: `hit ${link} ${before}`,
    name: `${lead}${match}${after}`,
    detail: title,
    marks: [[lead.length, lead.length + match.length]],
    target: route.page === "session" ? sessionHref(route.thread, route.target, query) : link,
  };
}

/** One session for each title in a project, the newest, and how many there are. */
function folded(sessions: LibraryRow[]): (LibraryRow & { same: number })[] {
  const found = new Map<string, LibraryRow & { same: number }>();
  for (const row of sessions) {
    const name = `${row.title}\n${row.project}`;
    const first = found.get(name);
    if (first && row.title) first.same += 1;
    else found.set(row.title ? name : row.key, { ...row, same: 1 });
  }
  return [...found.values()];
}

type Named = Omit<Entry, "marks"> & { also?: string };

/** What has most of the words, the best first: all words before some, the name before the rest, whole words before parts. */
function ranked(query: string, entries: Named[]): Entry[] {
  const all = query.toLowerCase().split(/\s+/).filter(Boolean);
  const counting = all.filter((word) => !QUESTION_WORDS.has(word));
  const words = counting.length ? counting : all;
  if (!words.length) return entries.map((entry) => ({ ...entry, marks: [] }));
  const scored = entries.flatMap(({ also = "", ...entry }) => {
    const marks = words.map((word) => wordAt(entry.name, word));
    const rest = `${entry.detail} ${also}`;
    const scores = words.map((word, at) => {
      const span = marks[at];
      if (span) return isWordStart(entry.name, span[0]) ? 3 : 2;
      return wordAt(rest, word) ? 1 : 0;
    });
    const found = scores.filter(Boolean).length;
    const score = found * 10 + scores.reduce<number>((sum, one) => sum + one, 0);
    return 2 * found > words.length ? [{ score, entry: { ...entry, marks: joined(marks) } }] : [];
  });
  return scored.sort((a, b) => b.score - a.score).map(({ entry }) => entry);
}

/** Where a word is in a text, at the beginning of a word if it can be. */
function wordAt(text: string, word: string): Span | null {
  const lower = text.toLowerCase();
  let first = -1;
  for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + 1)) {
    if (isWordStart(text, at)) return [at, at + word.length];
    if (first < 0) first = at;
  }
  return first < 0 ? null : [first, first + word.length];
}

const isWordStart = (text: string, at: number): boolean => at === 0 || !/[\p{L}\p{N}]/u.test(text.charAt(at - 1));

/** Places in order, those that overlap as one. */
function joined(spans: (Span | null)[]): Span[] {
  const out: Span[] = [];
  for (const [start, end] of spans.filter((span) => span !== null).sort((a, b) => a[0] - b[0])) {
    const last = out.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else out.push([start, end]);
  }
  return out;
}

const nowEntry = ({ key, id, title, state, project, activity }: NowSession): Named[] =>
  key ? [{ key: `now-${id}`, name: title, detail: [state, project].filter(Boolean).join(" · "), also: activity, target: sessionHref({ session: key }) }] : [];

const sessionEntry = ({ key, id, title, note, project, git_branch, version, models, updated, same }: LibraryRow & { same: number }): Named => ({
  key,
  name: title || "(no prompt yet)",
  detail: [same > 1 && `× ${exact(same)}, the newest`, folder(project), updated && ago(updated)].filter(Boolean).join(" · "),
  also: [note, project, git_branch, id, version, ...models].join(" "),
  target: sessionHref({ session: key }),
});

const searchEntry = (query: string): Entry => ({
  key: "search",
  name: `Search all sessions for “${query}”`,
  detail: "",
  marks: [],
  target: listHref({ filter: query }),
});
