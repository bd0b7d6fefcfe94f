// Made by scripts/make_types.py from the Python values: change those, and run it again.
/** A compaction, and what it took out of the context. */
export interface ContextDrop {
  trigger: string | null;
  before: number | null;
  after: number | null;
  tokens: number | null;
  micro: boolean;
  line: number;
}

/** The context at the end of a turn. */
export interface ContextFill {
  turn: number;
  model: string | null;
  tokens: number | null;
  peak: number | null;
  window: number | null;
  window_stated: boolean;
  compactions: ContextDrop[];
}

/** Markdown. */
export interface Prose {
  node: "prose";
  text: string;
}

/** Source or other text that is read line by line. */
export interface Code {
  node: "code";
  text: string;
  language: string | null;
  path: string | null;
  start: number | null;
  marks: string[];
}

/** A run of changed lines; each begins with a blank, `-` or `+`. */
export interface Hunk {
  old_start: number;
  new_start: number;
  lines: string[];
}

/** A change to a file. */
export interface Diff {
  node: "diff";
  path: string | null;
  hunks: Hunk[];
}

/** What a program was told or printed; colour codes and all. */
export interface Terminal {
  node: "terminal";
  text: string;
  stream: string;
}

/** A file in a list. */
export interface FileEntry {
  path: string;
  note: string | null;
}

/** A list of files; a view may draw a long one as a tree. */
export interface Files {
  node: "files";
  entries: FileEntry[];
}

/** Something to do. */
export interface ChecklistItem {
  text: string;
  state: string;
  changed: boolean;
  note: string | null;
}

/** Things to do and how far they are. */
export interface Checklist {
  node: "checklist";
  items: ChecklistItem[];
}

/** One of several answers. */
export interface Option {
  label: string;
  description: string | null;
  chosen: boolean;
  preview: string | null;
}

/** A question with its possible answers, the chosen ones marked. */
export interface Choice {
  node: "choice";
  question: string;
  header: string | null;
  options: Option[];
  multiple: boolean;
  answer: string | null;
}

/** Rows and columns. */
export interface Table {
  node: "table";
  columns: string[];
  rows: string[][];
}

/** An image or another file that a view may show; its bytes are base64. */
export interface Picture {
  node: "picture";
  media_type: string;
  size: number | null;
  width: number | null;
  height: number | null;
  name: string | null;
  data: string | null;
  url: string | null;
}

/** A name and what it is. */
export interface Fact {
  name: string;
  value: string;
}

/** Short things known, by name. */
export interface Facts {
  node: "facts";
  items: Fact[];
}

/** Somewhere a link leads. */
export interface Target {
  url: string;
  title: string | null;
}

/** Addresses; a view never follows one by itself. */
export interface Links {
  node: "links";
  targets: Target[];
}

/** A short remark: a badge, a warning, an error in words. */
export interface Note {
  node: "note";
  text: string;
  level: string;
}

/** A JSON value, drawn as a readable tree. */
export interface Data {
  node: "data";
  value: unknown;
}

/** Nodes under a heading; a view may keep it closed until asked. */
export interface Section {
  node: "section";
  title: string;
  nodes: Node[];
  open: boolean;
}

/** What was spent. */
export interface Figures {
  tokens: number;
  output_tokens: number;
  cost_usd: number | null;
  unconfirmed_responses: number;
  unpriced_models: string[];
}

/** A session as a row of the library; what only its whole file can tell comes later. */
export interface LibraryRow {
  key: string;
  id: string;
  title: string;
  project: string;
  project_guessed: boolean;
  git_branch: string | null;
  version: string | null;
  started: string | null;
  updated: string | null;
  size: number;
  captured: boolean;
  live: boolean;
  models: string[];
  turns: number | null;
  agents: number | null;
  figures: Figures | null;
}

/** Every session, newest first. */
export interface Library {
  sessions: LibraryRow[];
  roots: string[];
  pending: number;
  demo: boolean;
}

/** A branch, where one can be chosen. */
export interface BranchMark {
  id: number;
  active: boolean;
  title: string;
  turns: number;
  parent: number | null;
}

/** An agent, where it is named. */
export interface AgentMark {
  id: string;
  type: string | null;
  title: string;
  calls: number;
  errors: number;
  figures: Figures;
  seconds: number | null;
  running: boolean;
  parent: string | null;
  call: string | null;
}

/** A session, or one of its agents alone, as the head of its page. */
export interface Overview {
  key: string;
  id: string;
  title: string;
  project: string;
  project_guessed: boolean;
  path: string | null;
  git_branches: string[];
  versions: string[];
  models: string[];
  dialects: string[];
  started: string | null;
  ended: string | null;
  live: boolean;
  turns: number;
  items: number;
  branch: number;
  branches: BranchMark[];
  agents: AgentMark[];
  agent: AgentMark | null;
  tools: Record<string, number>;
  errors: number;
  malformed: number;
  replaced: boolean;
}

/** What a session spent: counting takes longer than the page. */
export interface UsageSummary {
  figures: Figures;
  by_model: Record<string, Figures>;
  context: ContextFill[];
}

/** A long text in a node that was not sent whole. */
export interface Cut {
  path: number[];
  lines: number;
  chars: number;
}

/** Markdown. */
export interface TextPart {
  part: "text";
  text: string;
  chars: number | null;
}

/** A thought; without text where only its signature was kept. */
export interface ThinkingPart {
  part: "thinking";
  text: string;
  chars: number | null;
  seconds: number | null;
}

/** A call on one line; its body is asked for when it is opened. */
export interface CallPart {
  part: "call";
  index: number;
  id: string;
  name: string;
  label: string;
  title: string;
  category: string;
  state: string;
  is_error: boolean;
  note: string;
  seconds: number | null;
  line: number;
  agents: AgentMark[];
}

/** Pictures and other blocks, as nodes. */
export interface NodesPart {
  part: "nodes";
  nodes: Node[];
  title: string;
  cut: Cut[];
}

/** The conversation was summed up here. */
export interface CompactionPart {
  part: "compaction";
  trigger: string | null;
  micro: boolean;
  before: number | null;
  after: number | null;
  summary: string;
  chars: number | null;
}

/** A branch where it parts from others. */
export interface ForkBranch {
  id: number;
  title: string;
}

/** Branches part here: the one that is shown, and the others. */
export interface ForkPart {
  part: "fork";
  branches: ForkBranch[];
  shown: number;
}

/** One message, or a run of small calls, as a piece of the document. */
export interface TimelineItem {
  index: number;
  key: string;
  kind: string;
  turn: number;
  line: number;
  time: string | null;
  parts: Part[];
  title: string;
  model: string | null;
  flags: string[];
  figures: Figures | null;
  seconds: number | null;
}

/** A slice of the document. */
export interface Page {
  start: number;
  total: number;
  stamp: number;
  items: TimelineItem[];
}

/** A turn in the outline. */
export interface TurnMark {
  index: number;
  item: number;
  title: string;
  time: string | null;
  marks: string;
  more: number;
  errors: number;
  edits: number;
  agents: number;
  branches: number;
  compacted: boolean;
}

/** A slice of the turns. */
export interface Outline {
  start: number;
  total: number;
  stamp: number;
  turns: TurnMark[];
}

/** A call, opened. */
export interface CallBody {
  id: string;
  nodes: Node[];
  cut: Cut[];
}

/** A line as it stands in the file, with what became of it. */
export interface RawLine {
  line: number;
  offset: number;
  text: string;
  chars: number | null;
  fate: string;
  reason: string;
}

/** The lines that a message or a call was made of. */
export interface RawLines {
  path: string | null;
  lines: RawLine[];
}

/** Where something stands in the document. */
export interface Place {
  item: number;
  key: string;
  branch: number;
  agent: string | null;
  call: number | null;
}

/** A place where a text was found. */
export interface Hit {
  item: number;
  key: string;
  turn: number;
  agent: string | null;
  call: number | null;
  where: string;
  before: string;
  match: string;
  after: string;
}

/** What was found so far. */
export interface Hits {
  hits: Hit[];
  next: number | null;
  searched: number;
  total: number;
}

/** The passages that fit a filter, as far as they were looked through. */
export interface Filtered {
  indices: number[];
  next: number | null;
  total: number;
}

/** Something that is odd about the file. */
export interface Problem {
  code: string;
  level: string;
  line: number;
  text: string;
}

/** What is odd about the file, with the line of each. */
export interface Problems {
  problems: Problem[];
  more: number;
}

/** A live session went on: from this passage on, pages are out of date. */
export interface TimelineUpdate {
  stamp: number;
  branch: number;
  items: number;
  turns: number;
  first: number;
  live: boolean;
  agents: string[];
  rewritten: boolean;
  gone: boolean;
}

/** How far a large file has been read. */
export interface OpeningProgress {
  read: number;
  size: number;
}

export type Node =
  | Prose
  | Code
  | Diff
  | Terminal
  | Files
  | Checklist
  | Choice
  | Table
  | Picture
  | Facts
  | Links
  | Note
  | Data
  | Section;

export type Part =
  | TextPart
  | ThinkingPart
  | CallPart
  | NodesPart
  | CompactionPart
  | ForkPart;
