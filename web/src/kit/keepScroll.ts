/** Scroll positions, kept with the entry of the browser's history. */

import { useLayoutEffect } from "react";
import { listen } from "./listen";

interface Scroll {
  element: HTMLElement;
  /** What grows while it is loaded. */
  content: Element;
  saved(): number | null;
  save(top: number): void;
}

/** Keep a scroll position, and return to it, until the returned function is called.
 *
 * A return is in force until the person does something: what is shown may arrive late and piece by piece, and while it is
 * too short the browser scrolls it elsewhere. There is no time after which it is given up, and until then nothing is saved.
 */
export function keepScroll({ element, content, saved, save }: Scroll): () => void {
  let wanted: number | null = null;
  let timer = 0;
  const hold = () => wanted !== null && (element.scrollTop = wanted);
  const release = () => (wanted = null);
  const returnToSaved = () => {
    clearTimeout(timer);
    wanted = saved();
    hold();
    requestAnimationFrame(hold); // after what a new choice scrolls to
  };
  const saveNow = () => {
    clearTimeout(timer);
    if (wanted === null) save(element.scrollTop);
  };
  const scrolled = () => {
    clearTimeout(timer);
    timer = window.setTimeout(saveNow, 100);
  };
  returnToSaved();
  const observer = new ResizeObserver(hold);
  observer.observe(content);
  const gestures = { wheel: release, touchmove: release, pointerdown: release, keydown: release, input: release };
  const stops = [
    listen({ pagehide: saveNow, popstate: returnToSaved }, { passive: true }),
    // Before anyone acts on them, and before a link is followed.
    listen({ ...gestures, scroll: scrolled, click: saveNow }, { passive: true, capture: true }),
  ];
  return () => {
    clearTimeout(timer);
    observer.disconnect();
    for (const stop of stops) stop();
  };
}

export const saveScroll = (top: number): void => history.replaceState({ ...(history.state as object | null), top }, "");

/** Keep the scroll position of the page, and return to it. */
export function useKeptScroll(): void {
  useLayoutEffect(() => {
    const saved = () => (history.state as { top?: number } | null)?.top || null;
    return keepScroll({ element: document.documentElement, content: document.body, saved, save: saveScroll });
  }, []);
}
