/** The entries of the palette: sessions, pages and actions that match what was typed. */

import { ago, folder } from "../kit/format";
import { matchesWords } from "../pages/groupSessions";
import { listHref, sessionHref } from "../route";
import type { Source } from "../source";
import type { LibraryRow } from "../values";
import type { Action } from "./actions";

/** How many sessions are listed. */
const SESSIONS = 7;

export interface Entry {
  key: string;
  name: string;
  /** What tells it from others of the same name. */
  detail: string;
  /** The address that it leads to, or what it does. */
  target: string | (() => void);
}

export interface EntryGroup {
  name: string;
  entries: Entry[];
}

const PAGES: [name: string, detail: string, href: string][] = [
  ["Sessions", "all sessions", listHref({ page: "library" })],
  ["Usage", "tokens and cost", "#/usage"],
  ["Statistics", "calls, failures and time", "#/stats"],
  ["Captured", "what was captured", listHref({ page: "captured" })],
];

/** The groups that have entries, in order. */
export function entryGroups(text: string, sessions: LibraryRow[], actions: Action[], { can }: Source): EntryGroup[] {
  const query = text.trim();
  const words = query.toLowerCase().split(/\s+/);
  const matches = (name: string) => words.every((word) => name.toLowerCase().includes(word));
  const pages = can.library ? PAGES : [];
  const groups: EntryGroup[] = [
    { name: "Sessions", entries: sessions.filter((row) => matchesWords(row, query)).slice(0, SESSIONS).map(sessionEntry) },
    {
      name: "Pages",
      entries: pages.flatMap(([name, detail, target]) => (matches(`${name} ${detail}`) ? [{ key: target, name, detail, target }] : [])),
    },
    {
      name: "Actions",
      entries: actions.flatMap(({ name, keys = "", run }) => (matches(name) ? [{ key: name, name, detail: keys, target: run }] : [])),
    },
    { name: "Search", entries: can.library && query ? [searchEntry(query)] : [] },
  ];
  return groups.filter(({ entries }) => entries.length);
}

const sessionEntry = ({ key, title, project, updated }: LibraryRow): Entry => ({
  key,
  name: title || "(no prompt yet)",
  detail: [folder(project), updated && ago(updated)].filter(Boolean).join(" · "),
  target: sessionHref({ session: key }),
});

const searchEntry = (query: string): Entry => ({
  key: "search",
  name: `Search all sessions for “${query}”`,
  detail: "",
  target: listHref({ page: "library", filter: query }),
});
