/** The rows of the library: grouped by project, or in one sorted list. */

import type { LibraryRow } from "../values";

export const SORTS = ["newest", "turns", "tokens", "cost", "title"] as const;
export type Sort = (typeof SORTS)[number];

export interface ProjectGroup {
  project: string;
  guessed: boolean;
  sessions: LibraryRow[];
}

/** The heading of a project, or a session, which names its project if there are no headings. */
export type ListRow = ProjectGroup | { session: LibraryRow; showProject: boolean };

const SORT_VALUES: Record<Exclude<Sort, "newest" | "title">, (row: LibraryRow) => number> = {
  turns: (row) => row.turns ?? -1,
  tokens: (row) => row.figures?.tokens ?? -1,
  cost: (row) => row.figures?.cost_usd ?? -1,
};

/** True if the row contains every word of the filter. */
export function matchesWords(row: LibraryRow, filter: string): boolean {
  const text = [row.title, row.project, row.git_branch, row.id, row.version, ...row.models].join("\n").toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

export function listRows(sessions: LibraryRow[], sort: Sort): ListRow[] {
  if (sort === "newest") {
    return groupByProject(sessions).flatMap((group) => [
      group,
      ...group.sessions.map((session) => ({ session, showProject: false })),
    ]);
  }
  return sortSessions(sessions, sort).map((session) => ({ session, showProject: true }));
}

/** Sessions in an order; they come newest first. */
export function sortSessions(sessions: LibraryRow[], sort: Sort): LibraryRow[] {
  if (sort === "newest") return sessions;
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
