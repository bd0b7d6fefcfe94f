/** Coming to rest exactly where one wanted to be. */

import { topOfText } from "../kit/bar";
import type { Windowed } from "../kit/useWindowed";
import type { Jump } from "../reading";

/** Where one was, kept with the entry of the browser's history. */
export interface Rest {
  index: number;
  key: string;
  offset: number;
}

export function remember(rest: Rest): void {
  history.replaceState({ ...(history.state as object | null), rest }, "");
}

export const remembered = (): Rest | null => (history.state as { rest?: Rest } | null)?.rest ?? null;

/** After the next frame: what it drew has been measured by then. */
export const drawn = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

/** Scroll to the row, and again once what is around it has been measured. */
export async function landing({ heights, margin }: Windowed, row: number, jump: Jump): Promise<void> {
  scrollTo(0, margin + heights.top(row) - topOfText());
  for (let tries = 0; tries < 12; tries += 1) {
    await drawn();
    const element = document.querySelector<HTMLElement>(`.row[data-index="${row}"]`);
    if (!element || element.querySelector(".waiting")) continue;
    const wanted = wantedTop(element, jump);
    const off = wanted - topOfText();
    if (Math.abs(off) < 1) return;
    const before = scrollY;
    scrollBy(0, off);
    if (scrollY === before) return;
  }
}

function wantedTop(element: HTMLElement, jump: Jump): number {
  const call = jump.call === null ? null : element.querySelector<HTMLElement>(`[data-call="${jump.call}"]`);
  if (call) {
    // A call is read with what stands above it.
    return Math.max(call.getBoundingClientRect().top - innerHeight / 4, element.getBoundingClientRect().top);
  }
  return element.getBoundingClientRect().top + (jump.offset ?? 0);
}

/** Stay at the very end. */
export function toTheEnd(): void {
  scrollTo(0, document.documentElement.scrollHeight);
}
