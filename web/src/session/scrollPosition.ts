/** The scroll position, stored with the entry of the browser's history. */

export interface ScrollPosition {
  index: number;
  key: string;
  offset: number;
}

export function savePosition(scrollPosition: ScrollPosition): void {
  history.replaceState({ ...(history.state as object | null), scrollPosition }, "");
}

export const savedPosition = (): ScrollPosition | null =>
  (history.state as { scrollPosition?: ScrollPosition } | null)?.scrollPosition ?? null;
