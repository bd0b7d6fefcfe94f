/** A thread as it is being read: the pages that are near, what is open, and where one is. */

import { Lru } from "./kit/lru";
import { Store } from "./kit/store";
import type { Source, Thread } from "./source";
import type { CallBody, Grown, Outline, Overview, Passage, TurnMark } from "./values";

export const PAGE = 50;
const KEPT_PAGES = 40;
const KEPT_BODIES = 200;
export const TURNS = 200;

interface Kept<T> {
  items: T[];
  stale: boolean;
}

/** What is open; thinking may be open everywhere, and then the exceptions are kept. */
class Opened extends Store {
  private readonly flipped = new Set<string>();
  thinking = false;

  isOpen(key: string, byDefault = false): boolean {
    return this.flipped.has(key) !== byDefault;
  }

  toggle(key: string): void {
    if (!this.flipped.delete(key)) this.flipped.add(key);
    this.changed();
  }

  open(key: string, byDefault = false): void {
    if (!this.isOpen(key, byDefault)) this.toggle(key);
  }

  toggleThinking(): void {
    this.thinking = !this.thinking;
    for (const key of this.flipped) if (key.startsWith("thinking:")) this.flipped.delete(key);
    this.changed();
  }
}

/** Where one is: the passage at the top of the screen, what a link led to, and the call that keys act on. */
class Position extends Store {
  top = 0;
  turn = 1;
  marked: string | null = null;
  call: number | null = null;

  move(top: number, turn: number | null): void {
    if (top === this.top && (turn === null || turn === this.turn)) return;
    this.top = top;
    if (turn !== null) this.turn = turn;
    this.changed();
  }

  mark(key: string | null, call: number | null = null): void {
    this.marked = key;
    this.call = call;
    this.changed();
  }
}

/** A wish to be somewhere; the list fulfils it. */
export interface Jump {
  index: number;
  call: number | null;
  /** Pixels below the passage's top. */
  offset?: number;
}

class Jumps extends Store {
  last: Jump | null = null;

  to(jump: Jump): void {
    this.last = jump;
    this.changed();
  }
}

export class Reading extends Store {
  readonly opened = new Opened();
  readonly position = new Position();
  readonly jumps = new Jumps();
  readonly bodies = new Lru<string, CallBody>(KEPT_BODIES);
  total: number;
  turns: number;
  /** Passages that came while one was looking elsewhere. */
  fresh = 0;
  gone = false;
  /** The error that was last gone to. */
  errorAt: number | null = null;
  /** Why the last question had no answer. */
  failed: Error | null = null;
  private stamp = 0;
  private readonly pages = new Lru<number, Kept<Passage>>(KEPT_PAGES);
  private readonly outline = new Map<number, Kept<TurnMark>>();
  private readonly agents = new Map<string, Reading>();
  private readonly asked = new Map<string, Promise<void>>();

  constructor(
    readonly source: Source,
    readonly thread: Thread,
    public overview: Overview,
  ) {
    super();
    this.total = overview.passages;
    this.turns = overview.turns;
    this.gone = overview.replaced;
  }

  /** Open a thread to read on from a passage: what is drawn first is asked for first, and at once. */
  static async open(source: Source, thread: Thread, from: number | null): Promise<Reading> {
    const page = from === null ? null : Math.floor(from / PAGE);
    const [overview, got] = await Promise.all([
      source.overview(thread),
      page === null ? null : source.page(thread, page * PAGE, PAGE),
    ]);
    const reading = new Reading(source, thread, overview);
    if (page !== null && got) reading.pages.set(page, { items: got.passages, stale: got.total !== overview.passages });
    return reading;
  }

  /** The reading of an agent inside this one, where it was open before: it is drawn again at once. */
  knownAgent(id: string): Reading | undefined {
    return this.agents.get(id);
  }

  async agent(id: string): Promise<Reading> {
    const thread = { session: this.thread.session, agent: id };
    const inner = await Reading.open(this.source, thread, 0);
    this.agents.set(id, inner);
    return inner;
  }

  private inner(id: string): Reading | undefined {
    return this.agents.get(id) ?? [...this.agents.values()].map((agent) => agent.inner(id)).find(Boolean);
  }

  /** An agent that went on: what came may have changed the last passages. */
  private outdate(from: number, { passages, turns }: Overview): void {
    this.total = passages;
    this.turns = turns;
    for (const page of this.pages.keys()) {
      const kept = this.pages.peek(page);
      if (kept && (page + 1) * PAGE > from) kept.stale = true;
    }
  }

  passage(index: number): Passage | undefined {
    return this.pages.peek(Math.floor(index / PAGE))?.items[index % PAGE];
  }

  /** Have these passages fetched; whoever subscribes hears when they are here. */
  want(first: number, last: number): void {
    const end = Math.min(last, this.total - 1);
    for (let page = Math.floor(Math.max(0, first) / PAGE); page <= Math.floor(end / PAGE); page += 1) {
      void this.loadPage(page);
    }
  }

  async load(index: number): Promise<Passage | undefined> {
    await this.loadPage(Math.floor(index / PAGE));
    return this.passage(index);
  }

  /** The text and nodes of a passage, nothing cut. */
  async loadWhole(index: number): Promise<void> {
    const page = await this.source.page(this.thread, index, 1, true);
    const whole = page.passages[0];
    const kept = this.pages.peek(Math.floor(index / PAGE));
    if (whole && kept) {
      kept.items = kept.items.with(index % PAGE, whole);
      this.changed();
    }
  }

  turn(index: number): TurnMark | undefined {
    return this.outline.get(Math.floor(index / TURNS))?.items[index % TURNS];
  }

  wantTurns(first: number, last: number): void {
    for (let page = Math.floor(Math.max(0, first) / TURNS); page <= Math.floor(last / TURNS); page += 1) {
      if (page * TURNS < this.turns) void this.loadTurns(page);
    }
  }

  async loadTurn(index: number): Promise<TurnMark | undefined> {
    await this.loadTurns(Math.floor(index / TURNS));
    return this.turn(index);
  }

  grow(grown: Grown): void {
    if (grown.gone) this.gone = true;
    this.fresh += Math.max(0, grown.passages - this.total);
    this.total = grown.passages;
    this.turns = grown.turns;
    this.stamp = grown.stamp;
    this.overview = { ...this.overview, live: grown.live, passages: grown.passages, turns: grown.turns };
    for (const page of this.pages.keys()) {
      const kept = this.pages.peek(page);
      if (kept && (grown.rewritten || (page + 1) * PAGE > grown.first)) kept.stale = true;
    }
    const lastTurns = Math.floor(Math.max(0, grown.turns - 1) / TURNS);
    for (const [page, kept] of this.outline) kept.stale ||= grown.rewritten || page >= lastTurns - 1;
    if (grown.rewritten) this.bodies.clear();
    this.changed();
  }

  /** Ask how things stand; with agents, also those that are open in place. */
  async refresh(agents: string[] = []): Promise<void> {
    for (const id of agents) void this.inner(id)?.refresh();
    const overview = await this.source.overview(this.thread);
    if (this.thread.agent) this.outdate(this.total - 1, overview);
    this.overview = overview;
    this.changed();
  }

  /** A remark about this page, for the reader. */
  remark: string | null = null;

  say(remark: string): void {
    this.remark = remark;
    this.changed();
  }

  seen(): void {
    if (!this.fresh) return;
    this.fresh = 0;
    this.changed();
  }

  private loadPage(page: number): Promise<void> {
    const kept = this.pages.get(page);
    if (kept && !kept.stale) return Promise.resolve();
    return this.ask(`page ${page}`, async () => {
      const got = await this.source.page(this.thread, page * PAGE, PAGE);
      this.pages.set(page, { items: merged(kept?.items, got.passages), stale: got.stamp < this.stamp });
      if (got.stamp >= this.stamp) this.total = Math.max(got.total, this.total);
    });
  }

  private loadTurns(page: number): Promise<void> {
    const kept = this.outline.get(page);
    if (kept && !kept.stale) return Promise.resolve();
    return this.ask(`turns ${page}`, async () => {
      const got: Outline = await this.source.outline(this.thread, page * TURNS, TURNS);
      this.outline.set(page, { items: got.turns, stale: got.stamp < this.stamp });
    });
  }

  private ask(name: string, get: () => Promise<void>): Promise<void> {
    const under = this.asked.get(name);
    if (under) return under;
    const asked = get()
      .catch((error: unknown) => {
        this.failed = error instanceof Error ? error : new Error(String(error));
      })
      .finally(() => {
        this.asked.delete(name);
        this.changed();
      });
    this.asked.set(name, asked);
    return asked;
  }
}

/** What did not change stays the same object, so that it is not drawn again. */
function merged(before: Passage[] | undefined, after: Passage[]): Passage[] {
  if (!before) return after;
  return after.map((passage, index) => {
    const old = before[index];
    return old && JSON.stringify(old) === JSON.stringify(passage) ? old : passage;
  });
}
