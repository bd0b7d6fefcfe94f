/** Light or dark theme: that of the system unless the user chose another. */

import { loadSetting, saveSetting } from "./storage";

const THEME = "reread-theme";

type Theme = "light" | "dark";

function savedTheme(): Theme | null {
  const theme = loadSetting(THEME);
  return theme === "light" || theme === "dark" ? theme : null;
}

const systemTheme = (): Theme => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

export function applyTheme(theme: Theme | null = savedTheme()): void {
  if (theme) document.documentElement.dataset.theme = theme;
}

export function toggleTheme(): void {
  const current = (document.documentElement.dataset.theme as Theme | undefined) ?? systemTheme();
  const next = current === "dark" ? "light" : "dark";
  applyTheme(next);
  saveSetting(THEME, next);
}
