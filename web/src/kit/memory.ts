/** What the browser remembers from one visit to the next; a page opened from a file may have no such memory. */

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    return; // it holds for now
  }
}
