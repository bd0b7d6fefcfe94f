/** Where the reader reads from: a server, or the data inside an exported page. */

import type {
  CallBody,
  Filtered,
  Grown,
  Hits,
  Library,
  Listed,
  Opening,
  Outline,
  Overview,
  Page,
  Place,
  Problems,
  RawLines,
  Spent,
} from "./values";

/** One conversation of a session: its main thread or an agent, on one branch. */
export interface Thread {
  session: string;
  agent?: string | undefined;
  branch?: number | undefined;
}

/** Something one can point at. */
export interface Target {
  message?: string;
  call?: string;
  line?: number;
  turn?: number;
}

/** What to keep of a session; an empty list keeps all. */
export interface Filter {
  kinds: string[];
  tools: string[];
  errors: boolean;
}

/** A row of the usage report: its groups and figures by name. */
export type UsageRow = Record<string, string | number | null>;

export interface UsageReport {
  rows: UsageRow[];
  totals: UsageRow & { unconfirmed_responses: number; unpriced_models: string[]; lower_bound: boolean };
}

export interface SessionNews {
  grown?(grown: Grown): void;
  opening?(progress: Opening): void;
}

export interface LibraryNews {
  listed(row: Listed): void;
  changed(): void;
}

export interface Source {
  /** What it can do besides reading one session. */
  can: { library: boolean; usage: boolean; raw: boolean; live: boolean };
  /** Where the reader's name leads. */
  home: string;
  /** The address of the one session there is. */
  only: string | null;
  library(): Promise<Library>;
  overview(at: Thread): Promise<Overview>;
  page(at: Thread, start: number, count: number, whole?: boolean): Promise<Page>;
  outline(at: Thread, start: number, count: number): Promise<Outline>;
  call(at: Thread, index: number, whole?: boolean): Promise<CallBody>;
  lines(at: Thread, target: Target, whole?: boolean): Promise<RawLines>;
  place(at: Thread, target: Target): Promise<Place | null>;
  find(at: Thread, text: string, start: number): Promise<Hits>;
  filter(at: Thread, filter: Filter, start: number): Promise<Filtered>;
  markdown(at: Thread, target: Target): Promise<string>;
  spent(at: Thread): Promise<Spent>;
  problems(at: Thread): Promise<Problems>;
  usage(by: string, since: string | null): Promise<UsageReport>;
  /** An address that an img element may load. */
  picture(url: string): Promise<string>;
  exported(at: Thread): string | null;
  watch(at: Thread, news: SessionNews): () => void;
  watchLibrary(news: LibraryNews): () => void;
}

/** Something that is not there, in words for the reader. */
export class Missing extends Error {}
