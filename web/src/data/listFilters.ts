/** What a list of sessions can be narrowed to, besides the days: a row here is a filter with its chip. */

import { folder, model } from "../kit/format";
import type { LibraryRow } from "./values";

interface ListFilter {
  /** The values of a session, of which one can be chosen. */
  values?(row: LibraryRow): string[];
  /** The name of a value on the page. */
  name?(value: string): string;
  /** A filter that is on or off: what it is called, and whether a session passes. */
  title?: string;
  /** True if few need it: it is in a menu until it is on. */
  rare?: boolean;
  is?(row: LibraryRow, running: ReadonlySet<string>): boolean;
}

/** The sizes to choose from, in bytes. */
export const SIZES: Record<string, number> = { "100 kB": 1e5, "1 MB": 1e6, "10 MB": 1e7 };

const one = (value: string | null): string[] => (value ? [value] : []);

export const LIST_FILTERS: Record<string, ListFilter> = {
  project: { values: (row) => [row.project], name: folder },
  model: { values: (row) => row.models.map(model), name: model },
  agent: { values: (row) => row.agent_types },
  branch: { values: (row) => one(row.git_branch) },
  tag: { values: (row) => row.tags },
  machine: { values: (row) => one(row.machine) },
  person: { values: (row) => one(row.person) },
  size: { values: (row) => Object.keys(SIZES).filter((name) => row.size >= (SIZES[name] ?? 0)), name: (value) => `over ${value}` },
  starred: { title: "★ Starred", is: (row) => row.starred },
  failed: { title: "Failed last", is: (row) => row.failed },
  running: { title: "Running", is: (row, running) => running.has(row.key) },
  captured: { title: "Captured", rare: true, is: (row) => row.captured },
  kept: { title: "Kept", rare: true, is: (row) => row.kept || row.gone },
};

/** The names of the filters of a list in its address. */
export const FILTER_NAMES = [...Object.keys(LIST_FILTERS), "from", "to"];
export type Filters = Partial<Record<string, string>>;
