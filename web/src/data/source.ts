/** Where the reader gets its data: a server, or the data inside an exported page. */

import type { Store } from "../kit/store";
import type {
  AnnotationChange,
  CallBody,
  ChangedFiles,
  FileBlame,
  FileDiff,
  FilterResult,
  ItemPage,
  Library,
  LibraryNow,
  LibraryRow,
  LibrarySearch,
  OpeningProgress,
  Outline,
  Overview,
  Place,
  Problems,
  RawLines,
  ReaderSettings,
  RequestBody,
  RequestContext,
  RequestList,
  SearchHits,
  Installation,
  TimelineUpdate,
  UsageSummary,
  VersionBody,
  Waterfall,
  CommitReview,
  SessionComparison,
} from "./values";

/** One conversation of a session: the main thread or an agent's, on one branch. */
export interface ThreadRef {
  session: string;
  agent?: string | undefined;
  branch?: number | undefined;
}

/** What a link can point at: a message, a call, a line or a turn. */
export interface Target {
  message?: string;
  call?: string;
  line?: number;
  turn?: number;
}

/** Which items to show; an empty list means all. */
export interface Filter {
  kinds: string[];
  tools: string[];
  errors: boolean;
  /** With `errors`, also calls that were denied or interrupted. */
  stopped: boolean;
}

/** The star and the note of a session. */
export type Annotation = Pick<AnnotationChange, "starred" | "note" | "tags">;

/** A row of a report: groups and figures by name. */
export type ReportRow = Record<string, string | number | boolean | null | string[]>;

/** What a report counts: groups with commas, the first and the last day, and any filter. */
export type ReportQuery = Record<string, string | number | null | undefined>;

/** An answer that counts sessions. */
export interface Counted {
  /** How many are not counted yet; the next answer has more of them. */
  pending?: number;
}

/** A column as the report declares it: what its figures are, and which it adds up. */
export interface ReportColumn {
  name: string;
  title: string;
  kind: string;
  figures: string[];
  /** The state of the calls that it counts; empty if it counts calls of any state. */
  state?: string;
}

/** A report: figures by group and in total, how they are shown, and what there is to say about them. */
export interface Report extends Counted {
  by: string[];
  columns: ReportColumn[];
  rows: ReportRow[];
  totals: ReportRow;
  notes: { style: string; text: string }[];
  /** What groups are called, if not by their values. */
  labels?: Record<string, string>;
  /** The sessions that the library lists, of a report by session. */
  sessions_by_id?: Record<string, { key: string; title: string; project: string }>;
  /** How many responses have no final count, if rows do not say. */
  unconfirmed_responses?: number;
}

/** A budget and what is spent of it, as `reread budget --json` says. */
export interface BudgetState {
  amount_usd: number;
  per: "day" | "week" | "month";
  project: string | null;
  model: string | null;
  spent_usd: number;
  left_usd: number;
  forecast_usd: number | null;
}

/** A call that the statistics count, and the key of its session. */
export interface CountedCall {
  key: string | null;
  session: string;
  title: string;
  id: string;
  tool: string;
  state: string;
  failure: string | null;
  line: number;
  agent: string | null;
  time_ms: number | null;
  seconds: number | null;
  file: string | null;
}

/** A response behind a part of the cost. A cache break has its turn and cause; others have their message. */
export interface CostlyResponse {
  key: string | null;
  session: string;
  title: string;
  agent: string | null;
  message?: string | null;
  turn?: number | null;
  cause?: string;
  detail?: string | null;
  model: string | null;
  time_ms: number | null;
  cost_usd: number;
}

/** A session that changed a file: how it calls the file, and its last change. */
export interface FileSession {
  key: string | null;
  session: string;
  title: string;
  turn: number | null;
  file: string;
  added: number;
  removed: number;
  last_ms: number | null;
}

/** A file that sessions changed. */
export interface RecentFile {
  path: string;
  /** Its path in the folder of the session that changed it last. */
  file: string;
  project: string | null;
  count: number;
  added: number;
  removed: number;
  last_ms: number | null;
  sessions: FileSession[];
}

/** One thing to do differently, and where it comes from. */
export interface Advice {
  kind: string;
  subject: string;
  deed: string;
  text: string;
  project: string | null;
  count: number;
  cost_usd: number | null;
  command: string;
  places: { key: string | null; session: string; title: string; line: number | null; turn: number | null }[];
}

/** How the texts that a search finds are sorted. */
export const ORDERS = ["relevance", "newest"] as const;
export type Order = (typeof ORDERS)[number];

export interface SessionEvents {
  /** The stream was opened, for the first time or again: the session as it is now. */
  opened?(state: TimelineUpdate): void;
  update?(update: TimelineUpdate): void;
  opening?(progress: OpeningProgress): void;
}

export interface LibraryEvents {
  /** One row changed. */
  row(row: LibraryRow): void;
  /** Sessions were added or removed. */
  changed(): void;
  /** Something was written into the files of sessions, or of their agents. */
  grown(): void;
}

/** The sessions that run now, as the stream of events of the page on the screen says; null until it does. */
export type Running = Store & { readonly now: LibraryNow | null };

/** Why the server does not answer: it is gone, or it wants another token. */
export type Fault = "gone" | "token";

/** Whether the server answers. */
export type Connection = Store & { readonly fault: Fault | null };

/** A report on a team: groups of too few people are merged. */
export interface TeamReport extends Report {
  totals: { people: number; machines: number } & ReportRow;
  /** True if all of it is of too few people: then there are no figures. */
  withheld: boolean;
}

/** A quarter of a team's figures. */
export interface TeamFigures {
  by: string;
  groups: string[];
  quarter: string;
  quarters: string[];
  since: string;
  until: string;
  /** What of a machine is left out, and why. */
  refused: Record<string, string[]>;
  budgets: { team: string; per: string; amount_usd: number; spent_usd: number; left_usd: number; lower_bound: boolean }[];
  weeks: TeamReport;
  projects: TeamReport;
  usage: TeamReport;
  cache: TeamReport;
  tools: TeamReport;
  failures: TeamReport;
  sessions: TeamReport;
}

export interface Source {
  /** What is available besides reading one session; `link`: whether messages have an address. */
  can: { library: boolean; usage: boolean; raw: boolean; live: boolean; files: boolean; annotate: boolean; link: boolean };
  /** Whether the server is gone; null if there is none. */
  connection: Connection | null;
  /** What runs now; null if there is no server. */
  running: Running | null;
  /** Where the logo links to. */
  home: string;
  /** The address of the session, if there is only one. */
  onlySession: string | null;
  library(): Promise<Library>;
  /** Count these sessions first: they are on the screen. */
  countFirst(sessions: string[]): Promise<unknown>;
  /** The sessions and texts that match a query, at most `count` texts. */
  searchAll(query: string, order: Order, count: number): Promise<LibrarySearch>;
  /** `brief`: without what takes a while to count, if it does. */
  overview(thread: ThreadRef, brief?: boolean): Promise<Overview>;
  page(thread: ThreadRef, start: number, count: number, whole?: boolean): Promise<ItemPage>;
  /** The same at once, without a promise: the browser waits for nothing before it prints. */
  pageNow(thread: ThreadRef, start: number, count: number): ItemPage;
  outline(thread: ThreadRef, start: number, count: number): Promise<Outline>;
  call(thread: ThreadRef, index: number, whole?: boolean): Promise<CallBody>;
  lines(thread: ThreadRef, target: Target, whole?: boolean): Promise<RawLines>;
  place(thread: ThreadRef, target: Target): Promise<Place | null>;
  search(thread: ThreadRef, text: string, start: number): Promise<SearchHits>;
  filter(thread: ThreadRef, filter: Filter, start: number): Promise<FilterResult>;
  markdown(thread: ThreadRef, target: Target): Promise<string>;
  usage(thread: ThreadRef): Promise<UsageSummary>;
  /** What filled the context of a request, of the last one of a turn, or of the last of all. */
  context?: ((thread: ThreadRef, at: { turn?: number; request?: number }) => Promise<RequestContext>) | undefined;
  /** The API requests that the client noted, from one on; a page without a server has none. */
  requests?: (thread: ThreadRef, start: number) => Promise<RequestList>;
  /** A request: all of it, or what it changed since the one before. */
  request?: (thread: ThreadRef, number: number, changes: boolean, whole: boolean) => Promise<RequestBody>;
  /** When the turns, the model, the tools and the agents were at work. */
  waterfall(thread: ThreadRef): Promise<Waterfall>;
  problems(thread: ThreadRef): Promise<Problems>;
  /** The files that the session changed. */
  files(thread: ThreadRef): Promise<ChangedFiles>;
  /** What a version of a file changed, or the whole file after it. */
  fileVersion(thread: ThreadRef, file: number, version: number, whole: boolean): Promise<VersionBody>;
  /** What the whole session changed in a file, and the turn that wrote each of its lines. */
  fileDiff(thread: ThreadRef, file: number): Promise<FileDiff>;
  fileBlame(thread: ThreadRef, file: number): Promise<FileBlame>;
  /** A report by its name, of what its parameters choose. */
  report<Answer>(name: string, query?: ReportQuery): Promise<Answer>;
  /** The turns behind a commit that a session made. */
  review(session: string, commit: string): Promise<CommitReview>;
  /** Two sessions beside each other; a page without a server has none. */
  compare?: (one: string, other: string) => Promise<SessionComparison>;
  /** The figures of a team, if the server has one. */
  team?: (query: { quarter?: string; by?: string }) => Promise<TeamFigures>;
  /** The budgets of the reader, and a change of some of them; null removes one. */
  settings(): Promise<ReaderSettings>;
  changeSettings(change: Partial<ReaderSettings>): Promise<ReaderSettings>;
  /** The prices, folders and copies that this installation uses. */
  setup(): Promise<Installation>;
  annotation(session: string): Promise<Annotation>;
  /** Change a star or a note. `was` is the note that the new one is based on. */
  annotate(session: string, change: { starred?: boolean; note?: string; was?: string; tag?: string[]; untag?: string[] }): Promise<AnnotationChange>;
  /** An address that an img element can load. */
  pictureUrl(url: string): Promise<string>;
  exportUrl(thread: ThreadRef): string | null;
  watchSession(thread: ThreadRef, events: SessionEvents): () => void;
  watchLibrary(events: LibraryEvents): () => void;
}

/** The requested thing does not exist; the message is shown to the user. */
export class NotFound extends Error {}
