/** The props of every part component. */

import type { TimelineItem } from "../data/values";

export interface PartProps<P> {
  part: P;
  item: TimelineItem;
  /** The index of the part in the item. */
  at: number;
}
