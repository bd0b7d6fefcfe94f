import { expect, test } from "vitest";
import fixture from "../../tests/fixtures/clock.json";
import { replayDelay } from "../src/data/clock";

interface Case {
  name: string;
  before: string | null;
  after: string | null;
  speed: number;
  longest: number;
  wait: number;
}

const cases: Case[] = fixture;

test.each(cases)("$name", ({ before, after, speed, longest, wait }) => {
  expect(replayDelay(before, after, speed, longest)).toBeCloseTo(wait, 9);
});
