/** Settings in the browser's local storage, which may be blocked on a page opened from a file. */

export function loadSetting(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function saveSetting(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    return; // it still applies until the page is closed
  }
}
