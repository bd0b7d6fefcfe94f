/** What every drawing of a part is given. */

import type { Passage } from "../values";

export interface PartProps<P> {
  part: P;
  passage: Passage;
  /** Its place in the passage. */
  at: number;
}
