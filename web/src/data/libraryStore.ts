/** The list of sessions: asked for once, then kept up to date by the stream of events of the page on the screen. */

import { Store } from "../kit/store";
import { toError } from "../kit/toError";
import type { Source } from "./source";
import type { Library, LibraryRow } from "./values";

/** How long changed rows are gathered, in milliseconds: while sessions are counted, hundreds change in a second. */
const GATHERED = 150;
/** How long nothing is heard of rows that are being counted until the list is asked for again: what was counted between its answer and the start of the events was not heard of. */
const SILENCE = 60_000;

export class LibraryStore extends Store {
  library: Library | null = null;
  failed: Error | null = null;
  /** Called if something was written into sessions. */
  readonly onGrowth = new Set<() => void>();
  private request: Promise<void> | null = null;
  private readonly rows = new Map<string, Partial<LibraryRow>>();
  private timer = 0;
  private silence = 0;
  private isWatched = false;

  constructor(private readonly source: Source) {
    super();
  }

  /** Ask for the list, unless it is there or on its way. */
  readonly load = (): void => {
    if (!this.library) this.reload();
  };

  readonly reload = (): void => {
    this.request ??= this.source.library().then(
      (library) => this.set({ library, failed: null }),
      (error: unknown) => this.set({ failed: toError(error) }),
    );
  };

  /** Follow the changes until the returned function is called. */
  watch(): () => void {
    if (this.library) this.reload(); // what changed before was not heard of
    this.isWatched = true;
    const stop = this.source.watchLibrary({
      changed: () => {
        if (this.library) this.reload();
        this.grown();
      },
      grown: this.grown,
      row: (row) => this.change(row.key, row),
    });
    return () => {
      stop();
      this.isWatched = false;
    };
  }

  /** Ask for the list again, unless its changes are followed. */
  readonly refresh = (): void => {
    if (!this.library || !this.isWatched) this.reload();
  };

  /** Star a session, or remove the star. */
  readonly star = ({ key, starred }: LibraryRow): void => {
    this.change(key, { starred: !starred });
    this.source.annotate(key, { starred: !starred }).catch((error: unknown) => {
      this.change(key, { starred });
      this.set({ failed: toError(error) });
    });
  };

  private readonly grown = (): void => {
    for (const listener of this.onGrowth) listener();
  };

  private change(key: string, row: Partial<LibraryRow>): void {
    this.rows.set(key, { ...this.rows.get(key), ...row });
    this.timer ||= window.setTimeout(() => {
      this.timer = 0;
      if (this.library) this.set({ library: this.library });
    }, GATHERED);
  }

  private set({ library, failed }: { library?: Library; failed?: Error | null }): void {
    this.request = null;
    if (failed !== undefined) this.failed = failed;
    if (library) {
      const sessions = library.sessions.map((row) => ({ ...row, ...this.rows.get(row.key) }));
      this.library = { ...library, sessions, pending: library.pending && sessions.filter((row) => row.turns === null && !row.prompts_only).length };
      this.rows.clear();
      clearTimeout(this.silence);
      if (this.library.pending) this.silence = window.setTimeout(() => this.isWatched && this.reload(), SILENCE);
    }
    this.changed();
  }
}
