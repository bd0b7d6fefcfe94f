/** What lies on top of the page: the palette, also to choose what a session is compared with, or the keyboard shortcuts. */

import { Store } from "../kit/store";

export type OverlayName = "palette" | "compare" | "shortcuts";

class Overlay extends Store {
  shown: OverlayName | null = null;

  show(name: OverlayName | null): void {
    this.shown = name;
    this.changed();
  }

  toggle(name: OverlayName): void {
    this.show(this.shown === name ? null : name);
  }
}

export const overlay = new Overlay();
