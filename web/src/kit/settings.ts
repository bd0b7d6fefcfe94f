/** Settings that apply to every session. */

import { loadSetting, saveSetting } from "./storage";
import { Store } from "./store";

const DIFF_LAYOUT = "reread-diff";

class Settings extends Store {
  sideBySide = loadSetting(DIFF_LAYOUT) === "side-by-side";

  toggleSideBySide(): void {
    this.sideBySide = !this.sideBySide;
    saveSetting(DIFF_LAYOUT, this.sideBySide ? "side-by-side" : "inline");
    this.changed();
  }
}

export const settings = new Settings();
