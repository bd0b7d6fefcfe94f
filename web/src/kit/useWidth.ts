/** The width of an element, in pixels. */

import { useLayoutEffect, useState, type RefObject } from "react";

export function useWidth(container: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(720);
  useLayoutEffect(() => {
    if (!container.current) return;
    setWidth(container.current.clientWidth);
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(container.current);
    return () => observer.disconnect();
  }, [container]);
  return width;
}
