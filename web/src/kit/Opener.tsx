/** A button with an arrow, which opens what stands below it. */

import type { ReactNode } from "react";

interface Props {
  open: boolean;
  onToggle(): void;
  small?: boolean;
  children: ReactNode;
}

export function Opener({ open, onToggle, small = false, children }: Props) {
  return (
    <button type="button" className={small ? "opener small" : "opener"} aria-expanded={open} onClick={onToggle}>
      <span className="arrow" aria-hidden="true" />
      {children}
    </button>
  );
}
