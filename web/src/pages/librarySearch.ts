/** A search over all sessions as one types: few requests at a time, and answers to what was typed before are dropped. */

import { Store } from "../kit/store";
import { toError } from "../kit/toError";
import type { Order, Source } from "../data/source";
import type { LibrarySearch } from "../data/values";

/** How long to wait for more typing, in milliseconds. */
const TYPING = 150;
/** How long to wait for more changes after a session changed; the server gathers them, too. */
const CHANGES = 100;
/** How soon to ask again while sessions are being indexed. */
const INDEXING = 1500;

/** How many requests run at a time: what was typed last need not wait for the answer to what was typed before. */
const MOST_RUNNING = 2;

export interface Question {
  query: string;
  order: Order;
  /** How many texts to show. */
  count: number;
}

interface Answer {
  key: string;
  value: LibrarySearch | null;
  error: Error | null;
}

const keyOf = ({ query, order, count }: Question): string => JSON.stringify([query.trim(), order, count]);

/** The last answer, which shows a list again as it was. */
let lastAnswer: Answer = { key: "", value: null, error: null };

export class LibrarySearcher extends Store {
  private answer = lastAnswer;
  private question: Question | null = null;
  private asked = false;
  private running = 0;
  private outdated = false;
  private timer = 0;

  constructor(private readonly source: Source) {
    super();
  }

  /** What was found; the answer before stays until the next one comes. */
  get found(): LibrarySearch | null {
    return this.answer.value;
  }

  get error(): Error | null {
    return this.answer.error;
  }

  /** True until there is an answer to the question. */
  get waiting(): boolean {
    return this.question !== null && keyOf(this.question) !== this.answer.key;
  }

  /** Search, unless the query is empty; what a page is opened with is not typed, so it is searched for at once. */
  ask(question: Question): void {
    const first = !this.asked;
    this.asked = true;
    this.question = question.query.trim() ? question : null;
    this.schedule(first ? 0 : TYPING);
    this.changed();
  }

  /** Search again because sessions changed; if nobody sees the page, once somebody does. */
  readonly refresh = (): void => {
    if (document.hidden) addEventListener("visibilitychange", this.refresh, { once: true });
    else if (this.question && !this.timer) this.schedule(CHANGES);
  };

  readonly close = (): void => {
    clearTimeout(this.timer);
    removeEventListener("visibilitychange", this.refresh);
    this.question = null;
  };

  private schedule(delay: number): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      void this.search();
    }, delay);
  }

  private async search(): Promise<void> {
    const { question } = this;
    this.outdated = this.running >= MOST_RUNNING;
    if (this.outdated || !question) return;
    this.running += 1;
    const key = keyOf(question);
    const answer = await this.source.searchAll(question.query.trim(), question.order, question.count).then(
      (value): Answer => ({ key, value, error: null }),
      (error: unknown): Answer => ({ key, value: null, error: toError(error) }),
    );
    this.running -= 1;
    if (this.question && keyOf(this.question) === key) {
      this.answer = lastAnswer = answer;
      this.changed();
      if (answer.value?.pending) this.schedule(INDEXING);
    }
    if (this.outdated) void this.search();
  }
}
