import { expect, test } from "vitest";
import known from "../../tests/fixtures/clock.json";
import { wait } from "../src/clock";

interface Case {
  name: string;
  before: string | null;
  after: string | null;
  speed: number;
  longest: number;
  wait: number;
}

const cases: Case[] = known;

test.each(cases)("$name", ({ before, after, speed, longest, wait: seconds }) => {
  expect(wait(before, after, speed, longest)).toBeCloseTo(seconds, 9);
});
