import { expect, test } from "vitest";
import { listHref, parseRoute, sessionHref, type ListRoute } from "../src/route";

test.each(["", "#", "#/"])("%s is the library", (hash) =>
  expect(parseRoute(hash)).toEqual({ page: "library", filter: "", group: "", sort: "", order: "relevance", only: {} }),
);

test.each(["#/nowhere", "#/insights/more", "#/constructor"])("%s is no page", (hash) => expect(parseRoute(hash).page).toBe("unknown"));

test("two sessions beside each other have an address", () => {
  expect(parseRoute("#/compare/a%2Fb/c")).toEqual({ page: "compare", one: "a/b", other: "c" });
  expect(parseRoute("#/compare/a").page).toBe("unknown");
});

test("the filter and the order of a list are in its address", () => {
  const only = { project: "/home/a b", from: "2026-11-01", to: "2026-11-30", starred: "1" };
  const list: ListRoute = { page: "library", filter: "a b&c", group: "day", sort: "-cost", order: "newest", only };
  expect(parseRoute(listHref(list))).toEqual(list);
  expect(listHref()).toBe("#/");
  expect(parseRoute("#/?order=odd")).toMatchObject({ order: "relevance" });
});

test("pages by name", () => {
  expect(parseRoute("#/usage?by=model")).toEqual({ page: "insights", choices: { by: "model" } });
  expect(parseRoute("#/stats?by=file&all=1&open=a")).toEqual({ page: "insights", choices: { calls: "file", rows: "1", open: "a" } });
  expect(parseRoute("#/settings").page).toBe("settings");
  expect(parseRoute("#/captured")).toMatchObject({ page: "library", only: { captured: "1" } });
});

test("a link is parsed back to its parts", () => {
  const thread = { session: "a/b c", agent: "x#1", branch: 2 };
  const route = parseRoute(sessionHref(thread, { message: "line 12", call: "toolu_1?" }, "a&b"));
  expect(route).toMatchObject({ page: "session", thread, target: { message: "line 12", call: "toolu_1?" }, query: "a&b" });
});

test("invalid parts of an address are ignored", () => {
  expect(parseRoute("#/s/%E0%A4%A?branch=x&turn=-1")).toMatchObject({
    page: "session",
    thread: { session: "%E0%A4%A", branch: undefined },
    target: { turn: undefined },
  });
});
