import { Store } from "../kit/store";

export interface ExpandedState {
  toggled: string[];
  thinking: boolean;
  all: boolean;
}

/** What is expanded. Keys are stored if they differ from their default, since all thinking can be expanded at once. */
export class Expanded extends Store {
  private readonly toggled = new Set<string>();
  thinking = false;
  all = false;

  get state(): ExpandedState {
    return { toggled: [...this.toggled], thinking: this.thinking, all: this.all };
  }

  restore({ toggled, thinking, all }: ExpandedState): void {
    for (const key of toggled) this.toggled.add(key);
    this.thinking = thinking;
    this.all = all;
  }

  has(key: string, byDefault = false): boolean {
    return this.toggled.has(key) !== (byDefault || this.all);
  }

  /** Expand everything, or only what is expanded by default. */
  setAll(all: boolean): void {
    if (all === this.all) return;
    this.all = all;
    this.toggled.clear();
    this.changed();
  }

  toggle(key: string): void {
    if (!this.toggled.delete(key)) this.toggled.add(key);
    this.changed();
  }

  expand(key: string, byDefault = false): void {
    if (!this.has(key, byDefault)) this.toggle(key);
  }

  toggleThinking(): void {
    this.thinking = !this.thinking;
    for (const key of this.toggled) if (key.startsWith("thinking:")) this.toggled.delete(key);
    this.changed();
  }
}
