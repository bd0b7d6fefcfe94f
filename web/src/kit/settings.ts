/** Choices that hold for every session. */

import { keep, recall } from "./memory";
import { Store } from "./store";

const SIDES = "reread-sides";

class Settings extends Store {
  sideBySide = recall(SIDES) === "both";

  toggleSides(): void {
    this.sideBySide = !this.sideBySide;
    keep(SIDES, this.sideBySide ? "both" : "one");
    this.changed();
  }
}

export const settings = new Settings();
