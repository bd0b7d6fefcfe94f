/** The library's rows: by project, or in one list where another order is asked for. */

import type { Listed } from "../values";

export const SORTS = ["newest", "turns", "tokens", "cost", "title"] as const;
export type Sort = (typeof SORTS)[number];

export interface Shelf {
  project: string;
  guessed: boolean;
  sessions: Listed[];
}

export type Row = Shelf | { session: Listed; alone: boolean };

const MEASURES: Record<Exclude<Sort, "newest" | "title">, (row: Listed) => number> = {
  turns: (row) => row.turns ?? -1,
  tokens: (row) => row.figures?.tokens ?? -1,
  cost: (row) => row.figures?.cost_usd ?? -1,
};

/** Whether every word of the filter is somewhere in the row. */
export function fits(row: Listed, filter: string): boolean {
  const text = [row.title, row.project, row.git_branch, row.id, row.version, ...row.models].join("\n").toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

export function arranged(sessions: Listed[], sort: Sort): Row[] {
  if (sort === "newest") return shelves(sessions).flatMap((shelf) => [shelf, ...shelf.sessions.map((session) => ({ session, alone: false }))]);
  const sorted =
    sort === "title"
      ? sessions.toSorted((a, b) => a.title.localeCompare(b.title))
      : sessions.toSorted((a, b) => MEASURES[sort](b) - MEASURES[sort](a));
  return sorted.map((session) => ({ session, alone: true }));
}

/** Sessions by project; sessions come newest first, and so do the projects. */
function shelves(sessions: Listed[]): Shelf[] {
  const byProject = new Map<string, Shelf>();
  for (const session of sessions) {
    const shelf = byProject.get(session.project);
    if (shelf) shelf.sessions.push(session);
    else byProject.set(session.project, { project: session.project, guessed: session.project_guessed, sessions: [session] });
  }
  return [...byProject.values()];
}
