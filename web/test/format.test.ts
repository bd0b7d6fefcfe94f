import { expect, test } from "vitest";
import shared from "../../tests/fixtures/format.json";
import { ago, duration, exact, folder, inProject, model, money, plural, share, size, tokens } from "../src/kit/format";

type Cases = Record<"duration" | "size" | "tokens" | "money" | "lower_bound" | "share" | "number" | "turns", [number, string][]> & Record<"folder" | "model", [string, string][]>;

const cases = shared as unknown as Cases;

test.each(cases.duration)("%d seconds are %s", (seconds, text) => expect(duration(seconds)).toBe(text));
test.each(cases.size)("%d bytes are %s", (bytes, text) => expect(size(bytes)).toBe(text));
test.each(cases.tokens)("%d tokens are %s", (count, text) => expect(tokens(count)).toBe(text));
test.each(cases.money)("%d dollars are %s", (usd, text) => expect(money(usd)).toBe(text));

test.each(cases.lower_bound)("at least %d dollars are %s", (usd, text) => expect(money(usd, true)).toBe(text));
test.each(cases.folder)("%s is %s", (path, text) => expect(folder(path)).toBe(text));
test.each(cases.share)("a part of %d is %s", (part, text) => expect(share(part)).toBe(text));
test.each(cases.number)("the number %d is %s", (count, text) => expect(exact(count)).toBe(text));
test.each(cases.turns)("%d of them are %s", (count, text) => expect(plural(count, "turn")).toBe(text));
test.each(cases.model)("the model %j is %j", (id, text) => expect(model(id)).toBe(text));

test("nouns with a plural of their own", () => expect(plural(2310, "branch", "branches")).toBe("2,310 branches"));

test("paths of any system", () => {
  expect(folder("C:\\Users\\sam\\code")).toBe("~\\code");
  expect(inProject("Read C:\\code\\src\\a.py", "C:\\code")).toBe("Read src\\a.py");
  expect(inProject("Read /code/src/a.py", "/code")).toBe("Read src/a.py");
});

test("how long ago", () => {
  const now = new Date("2026-11-15T12:00:00");
  expect(ago("2026-11-15T11:59:30", now)).toBe("just now");
  expect(ago("2026-11-15T11:58:00", now)).toBe("2 min ago");
  expect(ago("2026-11-14T11:58:00", now)).toBe("yesterday");
  expect(ago("2026-11-03T11:58:00", now)).toBe("3 Nov");
  expect(ago("2025-11-03T11:58:00", now)).toBe("3 Nov 2025");
});
