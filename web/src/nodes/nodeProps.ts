/** The props of every node component, and access to the parts of a node that were not sent. */

import { createContext, use } from "react";
import type { CutNode } from "../data/values";

export interface NodeProps<N> {
  node: N;
  /** Identifies the node on the page, for what is expanded. */
  place: string;
}

/** The texts that were cut, and a function that loads them whole. */
interface Cuts {
  cuts: CutNode[];
  loadWhole(): void;
}

export const CutsContext = createContext<Cuts>({ cuts: [], loadWhole: () => undefined });

/** How the node at this place was cut, if it was. */
export function useCut(place: string): { cut: CutNode | undefined; loadWhole: () => void } {
  const { cuts, loadWhole } = use(CutsContext);
  return { cut: cuts.find((cut) => place.endsWith(`/${cut.path.join(".")}`)), loadWhole };
}
