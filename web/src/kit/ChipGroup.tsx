/** A choice of one among several options, each a chip. */

import type { ReactNode } from "react";

interface Props<T> {
  label: string;
  options: readonly T[];
  /** null if none is chosen. */
  value: NoInfer<T> | null;
  name?(option: NoInfer<T>): string;
  onChoose(option: NoInfer<T>): void;
}

export function ChipGroup<T>({ label, options, value, name = String, onChoose }: Props<T>): ReactNode {
  return (
    <span role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={name(option)}
          type="button"
          className="chip"
          aria-pressed={option === value}
          onClick={() => onChoose(option)}
        >
          {name(option)}
        </button>
      ))}
    </span>
  );
}
