/** A button with an arrow that expands or collapses the content below it. */

import type { ReactNode } from "react";

interface Props {
  open: boolean;
  onToggle(): void;
  small?: boolean;
  children: ReactNode;
}

export function DisclosureButton({ open, onToggle, small = false, children }: Props) {
  return (
    <button type="button" className={small ? "disclosure small" : "disclosure"} aria-expanded={open} onClick={onToggle}>
      <span className="arrow" aria-hidden="true" />
      {children}
    </button>
  );
}
