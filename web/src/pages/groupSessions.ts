/** The rows of the library: sessions in an order, below the headings of their groups; repeats are folded. */

import { isoDay, model } from "../kit/format";
import type { LibraryRow } from "../data/values";

export const GROUPS = ["project", "day", "branch", "none"] as const;
export type Group = (typeof GROUPS)[number];

type Value = (row: LibraryRow) => number | string;
/** What sessions can be sorted by: the largest number first, texts from A to Z. */
const SORT_VALUES = {
  updated: (row) => (row.updated ? Date.parse(row.updated) : 0),
  title: (row) => row.title.toLowerCase(),
  branch: (row) => (row.git_branch ?? "").toLowerCase(),
  turns: (row) => row.turns ?? -1,
  tokens: (row) => row.figures?.tokens ?? -1,
  cost: (row) => row.figures?.cost_usd ?? -1,
  changed: (row) => (row.lines_added ?? -1) + (row.lines_removed ?? 0),
  model: (row) => model(row.models[0] ?? ""),
} satisfies Record<string, Value>;
export type SortName = keyof typeof SORT_VALUES;
/** A column, and whether its order is reversed. */
export interface Sort {
  by: SortName;
  reversed: boolean;
}

export function parseSort(text: string): Sort {
  const by = text.replace(/^-/, "");
  return { by: Object.hasOwn(SORT_VALUES, by) ? (by as SortName) : "updated", reversed: text.startsWith("-") };
}

/** The text of an order after a click on a column: that column, then reversed. */
export const clickedSort = ({ by, reversed }: Sort, column: SortName): string =>
  by === column && !reversed ? `-${column}` : column === "updated" ? "" : column;

/** From so many sessions with one title on, they are one row. */
const REPEATS = 4;

export interface GroupRow {
  kind: "group";
  /** The value that its sessions share. */
  name: string;
  group: Group;
  guessed: boolean;
  sessions: LibraryRow[];
  folded: boolean;
}

/** Sessions with one title. */
export interface RepeatsRow {
  kind: "repeats";
  key: string;
  sessions: LibraryRow[];
  open: boolean;
  showProject: boolean;
}

/** A session, which names its project if its group does not. */
export interface SessionEntry {
  kind: "session";
  session: LibraryRow;
  showProject: boolean;
  /** True below a row of repeats. */
  nested: boolean;
}

export type ListRow = GroupRow | RepeatsRow | SessionEntry;

/** True if nobody asked anything in the session: it is empty, or has commands of the client alone. */
export const isEmptySession = ({ title, turns, figures, live }: LibraryRow): boolean =>
  !live && (turns === 0 || (turns !== null && !figures?.tokens && (!title || /^\/[\w:-]+(\s|$)/.test(title))));

/** True if the row contains every word of the filter. */
export function matchesWords(row: LibraryRow, filter: string): boolean {
  const text = [row.title, row.note, row.project, row.git_branch, row.id, row.version, ...row.models, ...row.tags.map((tag) => `#${tag}`)].join("\n").toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

interface Arrangement {
  group: Group;
  sort: Sort;
  /** The groups that are folded, and the repeats that are open, by key. */
  toggled: ReadonlySet<string>;
}

export const groupKey = (group: Group, name: string): string => `${group}\n${name}`;

/** The rows of sessions. */
export function listRows(sessions: LibraryRow[], arrangement: Arrangement): ListRow[] {
  const { group, sort, toggled } = arrangement;
  const sorted = sortSessions(sessions, sort);
  if (group === "none") return foldRepeats(sorted, true, arrangement);
  const groups = new Map<string, LibraryRow[]>();
  for (const session of sorted) {
    const name = NAMES[group](session);
    const known = groups.get(name);
    if (known) known.push(session);
    else groups.set(name, [session]);
  }
  return ordered([...groups], sort, ([, members]) => members).flatMap(([name, members]): ListRow[] => {
    const folded = toggled.has(groupKey(group, name));
    const heading: GroupRow = { kind: "group", name, group, guessed: group === "project" && members.every((row) => row.project_guessed), sessions: members, folded };
    return folded ? [heading] : [heading, ...foldRepeats(members, group !== "project", arrangement)];
  });
}

const NAMES: Record<Exclude<Group, "none">, (row: LibraryRow) => string> = {
  project: (row) => row.project,
  day: (row) => (row.updated ? isoDay(new Date(row.updated)) : ""),
  branch: (row) => row.git_branch ?? "",
};

const SUMMED: ReadonlySet<SortName> = new Set<SortName>(["turns", "tokens", "cost", "changed"]);

/** The sum of a column as its cell shows it; sessions that have not been counted are left out. -1 if none has been. */
function sumOf(rows: LibraryRow[], by: SortName): number {
  const known = rows.map((row) => Number(SORT_VALUES[by](row))).filter((value) => value >= 0);
  return known.length ? known.reduce((total, value) => total + value, 0) : -1;
}

/** Groups by the sum of what their sessions are sorted by, if it can be summed; else by their first session. */
function ordered<Item>(groups: Item[], { by, reversed }: Sort, rowsOf: (group: Item) => LibraryRow[]): Item[] {
  if (!SUMMED.has(by)) return groups;
  const sums = new Map(groups.map((group) => [group, sumOf(rowsOf(group), by)]));
  const sign = reversed ? -1 : 1;
  return groups.toSorted((a, b) => sign * ((sums.get(b) ?? 0) - (sums.get(a) ?? 0)));
}

function foldRepeats(sessions: LibraryRow[], showProject: boolean, { sort, toggled }: Arrangement): ListRow[] {
  const repeats = new Map<string, LibraryRow[]>();
  const keyOf = ({ project, title, prompts_only }: LibraryRow) => (title && !prompts_only ? `${project}\n${title}` : "");
  for (const session of sessions) {
    const known = repeats.get(keyOf(session));
    if (known) known.push(session);
    else repeats.set(keyOf(session), [session]);
  }
  const blocks = sessions.flatMap((session): LibraryRow[][] => {
    const same = repeats.get(keyOf(session)) ?? [];
    if (!keyOf(session) || same.length < REPEATS) return [[session]];
    // The row shows the last time, so that is its place: the first one's if the newest come first, else the last one's.
    const shown = sort.by === "updated" && sort.reversed ? same.at(-1) : same[0];
    return shown === session ? [same] : [];
  });
  return ordered(blocks, sort, (block) => block).flatMap((block): ListRow[] => {
    const [session] = block as [LibraryRow];
    if (block.length === 1) return [{ kind: "session", session, showProject, nested: false }];
    const key = keyOf(session);
    const open = toggled.has(key);
    const members = open ? block.map((one): ListRow => ({ kind: "session", session: one, showProject: false, nested: true })) : [];
    return [{ kind: "repeats", key, sessions: block, open, showProject }, ...members];
  });
}

/** Sessions in an order; of equal ones, those first that come first. */
export function sortSessions(sessions: LibraryRow[], { by, reversed }: Sort): LibraryRow[] {
  const value: Value = SORT_VALUES[by];
  const sign = reversed ? -1 : 1;
  return sessions.toSorted((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (typeof a === "string" && typeof b === "string") return sign * ((a === "" ? 1 : 0) - (b === "" ? 1 : 0) || a.localeCompare(b));
    return sign * (Number(b) - Number(a));
  });
}
