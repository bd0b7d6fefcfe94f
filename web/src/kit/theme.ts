/** Light or dark: the system's choice until one chooses. */

const KEY = "reread-theme";

type Theme = "light" | "dark";

function remembered(): Theme | null {
  try {
    const theme = localStorage.getItem(KEY);
    return theme === "light" || theme === "dark" ? theme : null;
  } catch {
    return null; // a page opened from a file may have no storage
  }
}

const bySystem = (): Theme => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

export function applyTheme(theme: Theme | null = remembered()): void {
  if (theme) document.documentElement.dataset.theme = theme;
}

export function toggleTheme(): void {
  const now = (document.documentElement.dataset.theme as Theme | undefined) ?? bySystem();
  const next = now === "dark" ? "light" : "dark";
  applyTheme(next);
  try {
    localStorage.setItem(KEY, next);
  } catch {
    return; // not remembered, still applied
  }
}
