/** Settings that apply to every session. */

import { loadSetting, saveSetting } from "./storage";
import { Store } from "./store";

const DIFF_LAYOUT = "reread-diff";
const DENSITY = "reread-density";

/** How much of a session is shown: prompts and last answers, everything with details closed, or all of it open. */
export const DENSITIES = ["conversation", "normal", "everything"] as const;
export type Density = (typeof DENSITIES)[number];

export const asDensity = (name: string | null): Density | null => DENSITIES.find((one) => one === name) ?? null;

class Settings extends Store {
  sideBySide = loadSetting(DIFF_LAYOUT) === "side-by-side";

  density: Density = asDensity(loadSetting(DENSITY)) ?? "normal";

  setDensity(density: Density): void {
    this.density = density;
    saveSetting(DENSITY, density);
    this.changed();
  }

  toggleSideBySide(): void {
    this.sideBySide = !this.sideBySide;
    saveSetting(DIFF_LAYOUT, this.sideBySide ? "side-by-side" : "inline");
    this.changed();
  }
}

export const settings = new Settings();
