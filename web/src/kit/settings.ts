/** Choices that hold for every session. */

import { Store } from "./store";

class Settings extends Store {
  sideBySide = false;

  toggleSides(): void {
    this.sideBySide = !this.sideBySide;
    this.changed();
  }
}

export const settings = new Settings();
