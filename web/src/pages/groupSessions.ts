/** The rows of the library: grouped by project, or in one sorted list; repeats are folded. */

import type { LibraryRow } from "../data/values";

export const SORTS = ["projects", "newest", "turns", "tokens", "cost", "title"] as const;
export type Sort = (typeof SORTS)[number];

/** The name of an order on the page. */
export const sortName = (sort: Sort): string => (sort === "projects" ? "By project" : sort.charAt(0).toUpperCase() + sort.slice(1));

/** From so many sessions with one title on, they are one row. */
const REPEATS = 4;

export interface ProjectGroup {
  project: string;
  guessed: boolean;
  sessions: LibraryRow[];
}

/** A session, which names its project if there are no headings. */
export interface SessionEntry {
  session: LibraryRow;
  showProject: boolean;
  /** How many sessions with the same title and project it stands for. */
  repeats: number;
}

/** The heading of a project, or a session. */
export type ListRow = ProjectGroup | SessionEntry;

/** The sessions that are one row, by this key. */
export const repeatKey = ({ project, title }: LibraryRow): string => `${project}\n${title}`;

/** True if nobody asked anything in the session: it is empty, or has commands of the client alone. */
export const isEmptySession = ({ title, turns, figures, live }: LibraryRow): boolean =>
  !live && (turns === 0 || (turns !== null && !figures?.tokens && (!title || /^\/[\w:-]+(\s|$)/.test(title))));

const SORT_VALUES: Record<Exclude<Sort, "projects" | "newest" | "title">, (row: LibraryRow) => number> = {
  turns: (row) => row.turns ?? -1,
  tokens: (row) => row.figures?.tokens ?? -1,
  cost: (row) => row.figures?.cost_usd ?? -1,
};

/** True if the row contains every word of the filter. */
export function matchesWords(row: LibraryRow, filter: string): boolean {
  const text = [row.title, row.note, row.project, row.git_branch, row.id, row.version, ...row.models].join("\n").toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** The rows of sessions in an order; repeats are one row unless their key is among the unfolded ones. */
export function listRows(sessions: LibraryRow[], sort: Sort, unfolded: ReadonlySet<string> = new Set()): ListRow[] {
  if (sort === "projects") {
    return groupByProject(sessions).flatMap((group) => [group, ...foldRepeats(group.sessions, false, unfolded)]);
  }
  return foldRepeats(sortSessions(sessions, sort), true, unfolded);
}

function foldRepeats(sessions: LibraryRow[], showProject: boolean, unfolded: ReadonlySet<string>): SessionEntry[] {
  const counts = new Map<string, number>();
  for (const session of sessions) counts.set(repeatKey(session), (counts.get(repeatKey(session)) ?? 0) + 1);
  const seen = new Set<string>();
  return sessions.flatMap((session) => {
    const key = repeatKey(session);
    const count = counts.get(key) ?? 1;
    const repeats = session.title && count >= REPEATS && !unfolded.has(key) ? count : 1;
    if (repeats > 1 && seen.has(key)) return [];
    seen.add(key);
    return [{ session, showProject, repeats }];
  });
}

/** Sessions in an order; they come newest first. */
export function sortSessions(sessions: LibraryRow[], sort: Sort): LibraryRow[] {
  if (sort === "projects" || sort === "newest") return sessions;
  if (sort === "title") return sessions.toSorted((a, b) => a.title.localeCompare(b.title));
  return sessions.toSorted((a, b) => SORT_VALUES[sort](b) - SORT_VALUES[sort](a));
}

/** Sessions by project. Sessions are sorted newest first, and so are the projects. */
function groupByProject(sessions: LibraryRow[]): ProjectGroup[] {
  const byProject = new Map<string, ProjectGroup>();
  for (const session of sessions) {
    const group = byProject.get(session.project);
    if (group) group.sessions.push(session);
    else byProject.set(session.project, { project: session.project, guessed: session.project_guessed, sessions: [session] });
  }
  return [...byProject.values()];
}
