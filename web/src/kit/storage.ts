/** Settings in the browser's local storage, which may be blocked on a page opened from a file. */

export function loadSetting(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

const TIME_ZONE = "reread-time-zone";

/** The time zone that was chosen; undefined for that of the browser, or if this browser does not know it. */
export function savedTimeZone(): string | undefined {
  const zone = loadSetting(TIME_ZONE) || undefined;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: zone }) && zone;
  } catch {
    return undefined;
  }
}

export const saveTimeZone = (zone: string): void => saveSetting(TIME_ZONE, zone);

export function saveSetting(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    return; // it still applies until the page is closed
  }
}
