/** The rows of a virtual list that are on the screen. */

import type { Virtualizer } from "@tanstack/react-virtual";
import type { ReactNode } from "react";

interface Props {
  list: Virtualizer<HTMLDivElement, Element>;
  children(index: number): ReactNode;
}

export function VirtualRows({ list, children }: Props) {
  return (
    <ol style={{ height: list.getTotalSize() }}>
      {list.getVirtualItems().map((item) => (
        <li
          key={item.key}
          data-index={item.index}
          ref={list.measureElement}
          style={{ transform: `translateY(${item.start}px)` }}
        >
          {children(item.index)}
        </li>
      ))}
    </ol>
  );
}
