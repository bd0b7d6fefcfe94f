/** The state of an open thread: the pages near the screen, what is expanded, and the position. */

import { Expanded } from "./expanded";
import { Lru } from "../kit/lru";
import { Store } from "../kit/store";
import { toError } from "../kit/toError";
import type { Source, ThreadRef } from "./source";
import type { CallBody, Outline, OutlineTurn, Overview, TimelineItem, TimelineUpdate } from "./values";

/** Items and turns per page. */
export const PAGE = 50;
const TURNS = 200;

const CACHED_PAGES = 40;
const CACHED_BODIES = 200;

interface CachedPage<T> {
  rows: T[];
  stale: boolean;
}

/** The item at the top of the screen, the selected item (from a link, a key or a hit), and the current call. */
class Position extends Store {
  top = 0;
  turn = 1;
  selected: string | null = null;
  call: number | null = null;

  move(top: number, turn: number | null): void {
    if (top === this.top && (turn === null || turn === this.turn)) return;
    this.top = top;
    if (turn !== null) this.turn = turn;
    this.changed();
  }

  select(key: string | null, call: number | null = null): void {
    this.selected = key;
    this.call = call;
    this.changed();
  }
}

/** A place to scroll to and to stay at, which the list sees to. */
export interface Jump {
  index: number;
  call: number | null;
  /** Pixels below the top of the item. */
  offset?: number;
  /** What has to be on the screen of the marks in the item or its call: the one in a line with this text, else the first. */
  match?: string;
}

/** The jump in force. It stays in force until the next one, or until the person scrolls: rows that are measured or filled
 * in the meantime must not move its target away. */
class Jumps extends Store {
  current: Jump | null = null;
  /** True if the target of the current jump is where it belongs. */
  reached = false;
  private asked = 0;

  /** Announce a jump whose target has to be looked up or loaded first; `to` takes the ticket. */
  ask(): number {
    this.asked += 1;
    return this.asked;
  }

  isWanted(ticket: number): boolean {
    return ticket === this.asked;
  }

  to(jump: Jump, ticket: number): void {
    if (!this.isWanted(ticket)) return;
    this.current = jump;
    this.reached = false;
    this.changed();
  }

  get underWay(): boolean {
    return this.current !== null && !this.reached;
  }

  reach(): void {
    if (this.reached) return;
    this.reached = true;
    this.changed();
  }

  /** Stay where the page is from now on. */
  release(): void {
    if (!this.current) return;
    this.current = null;
    this.changed();
  }

  /** The person scrolls: what was asked for before must not move the page either. */
  cancel(): void {
    this.ask();
    this.release();
  }
}

export class ThreadStore extends Store {
  readonly position = new Position();
  readonly jumps = new Jumps();
  readonly bodies = new Lru<string, CallBody>(CACHED_BODIES);
  total: number;
  turns: number;
  /** Items that arrived while the end of the list was not on the screen. */
  newItems = 0;
  /** True if the file no longer exists. */
  gone = false;
  /** The item of the last error that `e` went to. */
  errorAt: number | null = null;
  /** The last request that failed. */
  error: Error | null = null;
  /** A message to show above the list. */
  notice: string | null = null;
  /** Changes whenever the session does; 0 if unknown. */
  private stamp = 0;
  private readonly pages = new Lru<number, CachedPage<TimelineItem>>(CACHED_PAGES);
  private readonly outline = new Map<number, CachedPage<OutlineTurn>>();
  private readonly agents = new Map<string, ThreadStore>();
  private readonly pending = new Map<string, Promise<void>>();

  constructor(
    readonly source: Source,
    readonly thread: ThreadRef,
    public overview: Overview,
    readonly expanded = new Expanded(),
  ) {
    super();
    this.total = overview.items;
    this.turns = overview.turns;
    this.gone = overview.replaced;
  }

  /** Open a thread; `from` is the first item to show, requested together with the overview. */
  static async open(source: Source, thread: ThreadRef, from: number | null): Promise<ThreadStore> {
    const page = from === null ? null : Math.floor(from / PAGE);
    const [overview, first] = await Promise.all([
      source.overview(thread, true),
      page === null ? null : source.page(thread, page * PAGE, PAGE),
    ]);
    const store = new ThreadStore(source, thread, overview);
    if (page !== null && first) {
      store.pages.set(page, { rows: first.items, stale: first.total !== overview.items });
      store.stamp = first.stamp;
    }
    if (overview.errors === null) void store.once("overview", () => store.count());
    return store;
  }

  /** The store of an agent that was opened before, so that it can be drawn at once. */
  openedAgent(id: string): ThreadStore | undefined {
    return this.agents.get(id);
  }

  async openAgent(id: string): Promise<ThreadStore> {
    const thread = { session: this.thread.session, agent: id };
    const agent = await ThreadStore.open(this.source, thread, 0);
    this.agents.set(id, agent);
    return agent;
  }

  private findAgent(id: string): ThreadStore | undefined {
    return this.agents.get(id) ?? [...this.agents.values()].map((agent) => agent.findAgent(id)).find(Boolean);
  }

  /** The item, if its page is loaded. */
  item(index: number): TimelineItem | undefined {
    return this.pages.peek(Math.floor(index / PAGE))?.rows[index % PAGE];
  }

  /** The items of a page, if it is loaded and up to date. */
  loadedPage(page: number): TimelineItem[] | undefined {
    const cached = this.pages.peek(page);
    return cached && !cached.stale ? cached.rows : undefined;
  }

  /** Load these items in the background; subscribers are notified. */
  request(first: number, last: number): void {
    const end = Math.min(last, this.total - 1);
    for (let page = Math.floor(Math.max(0, first) / PAGE); page <= Math.floor(end / PAGE); page += 1) {
      void this.loadPage(page);
    }
  }

  async load(index: number): Promise<TimelineItem | undefined> {
    await this.loadPage(Math.floor(index / PAGE));
    return this.item(index);
  }

  /** Load the complete text and nodes of an item. */
  async loadWhole(index: number): Promise<void> {
    const page = await this.source.page(this.thread, index, 1, true);
    const whole = page.items[0];
    const cached = this.pages.peek(Math.floor(index / PAGE));
    if (whole && cached) {
      cached.rows = cached.rows.with(index % PAGE, whole);
      this.changed();
    }
  }

  /** The turn, if its page of the outline is loaded. */
  turn(index: number): OutlineTurn | undefined {
    return this.outline.get(Math.floor(index / TURNS))?.rows[index % TURNS];
  }

  requestTurns(first: number, last: number): void {
    for (let page = Math.floor(Math.max(0, first) / TURNS); page <= Math.floor(last / TURNS); page += 1) {
      if (page * TURNS < this.turns) void this.loadTurns(page);
    }
  }

  async loadTurn(index: number): Promise<OutlineTurn | undefined> {
    await this.loadTurns(Math.floor(index / TURNS));
    return this.turn(index);
  }

  /** True if the session changed and nobody said so: the server was gone, or the stream was opened later. */
  isBehind(state: TimelineUpdate): boolean {
    return this.stamp ? state.stamp !== this.stamp : state.items !== this.total;
  }

  /** The session changed on disk. */
  update(update: TimelineUpdate): void {
    if (update.gone) this.gone = true;
    this.newItems += Math.max(0, update.items - this.total);
    this.total = update.items;
    this.turns = update.turns;
    this.stamp = update.stamp;
    this.overview = { ...this.overview, live: update.live, items: update.items, turns: update.turns };
    this.markStale(update.rewritten ? 0 : update.first);
    const lastTurns = Math.floor(Math.max(0, update.turns - 1) / TURNS);
    for (const [page, cached] of this.outline) cached.stale ||= update.rewritten || page >= lastTurns - 1;
    if (update.rewritten) this.bodies.clear();
    this.changed();
  }

  /** Load the overview again, and that of these agents if they are open. */
  async refresh(agents: string[] = []): Promise<void> {
    for (const id of agents) void this.findAgent(id)?.refresh();
    await this.count();
    if (this.thread.agent) {
      this.markStale(this.total - 1); // new records may have changed the last item
      this.total = this.overview.items;
      this.turns = this.overview.turns;
    }
    this.changed();
  }

  /** Load the overview with what takes a while to count. */
  private async count(): Promise<void> {
    this.overview = await this.source.overview(this.thread);
  }

  showNotice(notice: string): void {
    this.notice = notice;
    this.changed();
  }

  /** The end of the list is on the screen. */
  markSeen(): void {
    if (!this.newItems) return;
    this.newItems = 0;
    this.changed();
  }

  private markStale(from: number): void {
    for (const page of this.pages.keys()) {
      const cached = this.pages.peek(page);
      if (cached && (page + 1) * PAGE > from) cached.stale = true;
    }
  }

  private loadPage(page: number): Promise<void> {
    const cached = this.pages.get(page);
    if (cached && !cached.stale) return Promise.resolve();
    return this.once(`page ${page}`, async () => {
      const loaded = await this.source.page(this.thread, page * PAGE, PAGE);
      this.pages.set(page, { rows: reuseUnchanged(cached?.rows, loaded.items), stale: loaded.stamp < this.stamp });
      if (loaded.stamp >= this.stamp) this.total = Math.max(loaded.total, this.total);
    });
  }

  private loadTurns(page: number): Promise<void> {
    const cached = this.outline.get(page);
    if (cached && !cached.stale) return Promise.resolve();
    return this.once(`turns ${page}`, async () => {
      const loaded: Outline = await this.source.outline(this.thread, page * TURNS, TURNS);
      this.outline.set(page, { rows: loaded.turns, stale: loaded.stamp < this.stamp });
    });
  }

  /** Run a request, unless one with this name is already running. */
  private once(name: string, request: () => Promise<void>): Promise<void> {
    const running = this.pending.get(name);
    if (running) return running;
    const started = request()
      .catch((error: unknown) => {
        this.error = toError(error);
      })
      .finally(() => {
        this.pending.delete(name);
        this.changed();
      });
    this.pending.set(name, started);
    return started;
  }
}

/** Keep the old object of each item that did not change, so that it is not drawn again. */
function reuseUnchanged(before: TimelineItem[] | undefined, after: TimelineItem[]): TimelineItem[] {
  if (!before) return after;
  return after.map((item, index) => {
    const old = before[index];
    return old && JSON.stringify(old) === JSON.stringify(item) ? old : item;
  });
}
