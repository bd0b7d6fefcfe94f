/** An exported page searches and filters as the server does: both are tested with one file of cases. */

import { expect, test } from "vitest";
import fixture from "../../tests/fixtures/search.json";
import type { SearchText } from "../src/data/embedded";
import { itemHits } from "../src/search/exportSearch";
import { matchesFilter } from "../src/search/filter";
import type { Filter } from "../src/data/source";
import { fold, unfolded, writtenPattern } from "../src/search/fold";
import { TextMatcher } from "../src/search/textMatcher";
import type { SearchHit, TimelineItem } from "../src/data/values";

interface Cases {
  items: TimelineItem[];
  texts: SearchText[][];
  search: { query: string; hits: unknown[][] }[];
  filter: (Filter & { indices: number[] })[];
}

const { items, texts, search, filter } = fixture as unknown as Cases;

const comparable = ({ item, where, match, before, after }: SearchHit) => [item, where, match, before, after];

test.each(search)("search for $query", ({ query, hits }) => {
  const matcher = new TextMatcher(query);
  expect(items.flatMap((item, at) => itemHits(item, texts[at] ?? [], matcher, null)).map(comparable)).toEqual(hits);
});

test.each(filter)("filter: $kinds $tools $errors", ({ indices, ...wanted }) => {
  expect(items.filter((item) => matchesFilter(item, wanted)).map(({ index }) => index)).toEqual(indices);
});

test("kana in half width are those in full width", () => {
  const written = "a ﾃﾞｰﾀ b";
  expect(fold(written)).toBe("a データ b");
  expect(written.slice(...unfolded(written, 2, 5))).toBe("ﾃﾞｰﾀ");
  for (const text of [written, "データ"]) expect(text).toMatch(new RegExp(writtenPattern("データ"), "u"));
});
