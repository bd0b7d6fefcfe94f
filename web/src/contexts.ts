/** What every component may use without being handed it. */

import { createContext, use } from "react";
import type { Reading } from "./reading";
import type { Source } from "./source";

export const SourceContext = createContext<Source | null>(null);
export const ReadingContext = createContext<Reading | null>(null);

function present<T>(value: T | null): T {
  if (value === null) throw new Error("drawn outside its context");
  return value;
}

export const useSource = (): Source => present(use(SourceContext));
export const useReading = (): Reading => present(use(ReadingContext));
