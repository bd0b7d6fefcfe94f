/** What every drawing of a node is given, and how it asks for what was cut. */

import { createContext, use } from "react";
import type { Cut } from "../values";

export interface NodeProps<N> {
  node: N;
  /** What the node is called where it is remembered to be open. */
  place: string;
}

/** What was not sent whole, and how to ask for it. */
interface Cuts {
  cuts: Cut[];
  whole(): void;
}

export const CutsContext = createContext<Cuts>({ cuts: [], whole: () => undefined });

/** How the node at this place was cut, if it was. */
export function useCut(place: string): { cut: Cut | undefined; whole: () => void } {
  const { cuts, whole } = use(CutsContext);
  return { cut: cuts.find((cut) => place.endsWith(`/${cut.path.join(".")}`)), whole };
}
