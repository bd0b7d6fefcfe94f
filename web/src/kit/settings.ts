/** Settings that apply to every session. */

import { loadSetting, saveSetting } from "./storage";
import { Store } from "./store";

const DIFF_LAYOUT = "reread-diff";
const PANE = "reread-sessions";
const DENSITY = "reread-density";
const WEEK = "reread-week";

/** From this width on there is room for the list of sessions beside a session, until somebody closes it. */
const WIDE = 1600;

/** How much of a session is shown: prompts and last answers, everything with details closed, or all of it open. */
export const DENSITIES = ["conversation", "normal", "everything"] as const;
export type Density = (typeof DENSITIES)[number];

export const asDensity = (name: string | null): Density | null => DENSITIES.find((one) => one === name) ?? null;

export const WEEK_STARTS = ["Monday", "Sunday"] as const;
export type WeekStart = (typeof WEEK_STARTS)[number];

class Settings extends Store {
  sideBySide = loadSetting(DIFF_LAYOUT) === "side-by-side";

  density: Density = asDensity(loadSetting(DENSITY)) ?? "normal";

  setDensity(density: Density): void {
    this.density = density;
    saveSetting(DENSITY, density);
    this.changed();
  }

  /** Whether the list of sessions is beside a session. */
  sessionsPane = loadSetting(PANE) === null ? typeof innerWidth === "number" && innerWidth >= WIDE : loadSetting(PANE) === "shown";

  toggleSessionsPane(): void {
    this.sessionsPane = !this.sessionsPane;
    saveSetting(PANE, this.sessionsPane ? "shown" : "hidden");
    this.changed();
  }

  /** The first day of the week. */
  weekStart: WeekStart = loadSetting(WEEK) === "Sunday" ? "Sunday" : "Monday";

  setWeekStart(day: WeekStart): void {
    this.weekStart = day;
    saveSetting(WEEK, day);
    this.changed();
  }

  toggleSideBySide(): void {
    this.sideBySide = !this.sideBySide;
    saveSetting(DIFF_LAYOUT, this.sideBySide ? "side-by-side" : "inline");
    this.changed();
  }
}

export const settings = new Settings();
