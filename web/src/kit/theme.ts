/** Light or dark: the system's choice until one chooses. */

import { keep, recall } from "./memory";

const KEY = "reread-theme";

type Theme = "light" | "dark";

function remembered(): Theme | null {
  const theme = recall(KEY);
  return theme === "light" || theme === "dark" ? theme : null;
}

const bySystem = (): Theme => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

export function applyTheme(theme: Theme | null = remembered()): void {
  if (theme) document.documentElement.dataset.theme = theme;
}

export function toggleTheme(): void {
  const now = (document.documentElement.dataset.theme as Theme | undefined) ?? bySystem();
  const next = now === "dark" ? "light" : "dark";
  applyTheme(next);
  keep(KEY, next);
}
