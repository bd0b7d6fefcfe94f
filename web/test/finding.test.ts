/** An exported page searches and filters as the server does: both are held to one file of cases. */

import { expect, test } from "vitest";
import known from "../../tests/fixtures/finding.json";
import { fitsFilter } from "../src/filter";
import { hitsIn, needle } from "../src/looking";
import type { Filter } from "../src/source";
import type { CallBody, Hit, Passage } from "../src/values";

interface Cases {
  passages: Passage[];
  bodies: Record<string, CallBody>;
  find: { query: string; hits: unknown[][] }[];
  filter: (Filter & { indices: number[] })[];
}

const { passages, bodies, find, filter } = known as unknown as Cases;

const told = ({ passage, where, match, before, after }: Hit) =>
  where === "call" ? [passage, where, match] : [passage, where, match, before, after];

test.each(find)("$query is found where it stands", ({ query, hits }) => {
  expect(passages.flatMap((passage) => hitsIn(passage, bodies, needle(query), null)).map(told)).toEqual(hits);
});

test.each(filter)("a filter keeps what fits: $kinds $tools $errors", ({ indices, ...wanted }) => {
  expect(passages.filter((passage) => fitsFilter(passage, wanted)).map(({ index }) => index)).toEqual(indices);
});
