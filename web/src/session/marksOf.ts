import { TextMatcher } from "../search/textMatcher";

/** A pattern that finds what a query marks; null if there is nothing to mark, or the query makes no sense. */
export function marksOf(query: string): RegExp | null {
  if (!query.trim()) return null;
  try {
    return new TextMatcher(query).marks;
  } catch {
    return null; // the search says why
  }
}
