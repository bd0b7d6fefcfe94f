import { expect, test } from "vitest";
import { dividerText } from "../src/session/Divider";

test.each([
  ["2026-02-03T12:00:00", "2026-02-03T11:30:00", ""],
  ["2026-02-03T12:00:00", "2026-02-03T08:00:00", "4 h later"],
  ["2026-02-04T00:05:00", "2026-02-03T23:58:00", "Wed 4 Feb"],
  ["2026-02-04T09:00:00", "2026-02-03T14:00:00", "Wed 4 Feb · 19 h later"],
  ["2026-02-09T09:00:00", "2026-02-03T14:00:00", "Mon 9 Feb · 6 days later"],
  ["2026-02-03T09:00:00", "2026-02-04T14:00:00", ""],
  [null, "2026-02-03T14:00:00", ""],
  ["2026-02-03T14:00:00", null, ""],
])("%s after %s is divided by %j", (time, after, text) => {
  expect(dividerText({ time, after })).toBe(text);
});
