/** Light or dark theme: that of the system unless the user chose another. */

import { loadSetting, saveSetting } from "./storage";

const THEME = "reread-theme";

export type Theme = "light" | "dark";

export function savedTheme(): Theme | null {
  const theme = loadSetting(THEME);
  return theme === "light" || theme === "dark" ? theme : null;
}

const systemTheme = (): Theme => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

export function applyTheme(theme: Theme | null = savedTheme()): void {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

/** Use a theme from now on; null for that of the system. */
export function chooseTheme(theme: Theme | null): void {
  applyTheme(theme);
  saveSetting(THEME, theme ?? "");
}

export function toggleTheme(): void {
  const current = (document.documentElement.dataset.theme as Theme | undefined) ?? systemTheme();
  chooseTheme(current === "dark" ? "light" : "dark");
}
