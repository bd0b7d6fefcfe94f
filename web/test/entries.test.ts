/** The palette ranks what it lists, and finds actions by the words that people try. */

import { expect, test } from "vitest";
import type { Source } from "../src/data/source";
import type { LibraryRow } from "../src/data/values";
import { comparedGroups, entryGroups } from "../src/shell/entries";

const source = { can: { library: true } } as unknown as Source;
const row = (title: string, project = "/home/me/shop"): LibraryRow =>
  ({ key: title, id: title, title, note: "", project, git_branch: null, version: null, models: [], updated: null }) as unknown as LibraryRow;
const actions = [
  { name: "Switch between light and dark", also: "theme mode", run: () => undefined },
  { name: "Print", run: () => undefined },
];
const names = (text: string, group: string, sessions: LibraryRow[] = []) =>
  entryGroups(text, sessions, actions, source).find(({ name }) => name === group)?.entries.map(({ name }) => name) ?? [];

test("sessions that have all words come first, then those that have most", () => {
  const sessions = [row("Fix the retry"), row("Retry the flaky login"), row("Prefix of a login retry")];
  expect(names("where did i retry login", "Sessions", sessions)).toEqual(["Retry the flaky login", "Prefix of a login retry"]);
  expect(names("fix retry login", "Sessions", sessions)).toEqual(["Prefix of a login retry", "Fix the retry", "Retry the flaky login"]);
});

test("a word at the beginning of a word counts more than one inside", () => {
  expect(names("fix", "Sessions", [row("Prefix"), row("A fix")])).toEqual(["A fix", "Prefix"]);
});

test("an action is found by the words that people try", () => {
  expect(names("theme", "Actions")).toEqual(["Switch between light and dark"]);
  expect(names("dark", "Actions")).toEqual(["Switch between light and dark"]);
  expect(names("xyz", "Actions")).toEqual([]);
});

test("what was typed is marked in the name", () => {
  const [group] = entryGroups("retry fix", [row("Fix the retry")], [], source);
  expect(group?.entries[0]?.marks).toEqual([[0, 3], [8, 13]]);
});

test("nothing typed lists what one can do here first, and then sessions and pages", () => {
  expect(names("", "Actions")).toEqual(["Switch between light and dark", "Print"]);
  const many = Array.from({ length: 9 }, (_, at) => ({ name: `Do ${at}`, run: () => undefined }));
  const groups = (text: string) => entryGroups(text, [row("Do it")], many, source).map(({ name, entries }) => `${name} ${entries.length}`);
  expect(groups("")).toEqual(["Actions 5", "Sessions 1", "Pages 6"]);
  expect(groups("do")).toEqual(["Sessions 1", "Actions 9", "Search 1"]);
});

test("equal titles of a project are one entry, which says how many", () => {
  const [group] = entryGroups("", [{ ...row("Same"), key: "a" }, { ...row("Same"), key: "b" }, row("Same", "/home/me/other")], [], source);
  expect(group?.entries.map(({ key, detail }) => [key, detail.startsWith("× 2")])).toEqual([["a", true], ["Same", false]]);
});

test("what runs is listed once", () => {
  const now = { summary: "1 running", waiting: 0, sessions: [{ id: "a", key: "a", title: "Runs", project: "p", git_branch: null, state: "working", since: null, activity: "" }] };
  const groups = entryGroups("runs", [{ ...row("Runs"), key: "a" }], [], source, now);
  expect(groups.flatMap(({ entries }) => entries).filter(({ name }) => name === "Runs")).toHaveLength(1);
});

test("a session is compared with another one, those that are most alike first", () => {
  const again = { ...row("Fix it"), key: "again" };
  const sessions = [row("Other", "/home/me/books"), row("Same project"), row("Fix it"), again];
  const listed = (text: string) => comparedGroups(text, sessions, "Fix it").flatMap(({ entries }) => entries);
  expect(listed("").map(({ key }) => key)).toEqual(["again", "Same project", "Other"]);
  expect(listed("project").map(({ target }) => target)).toEqual(["#/compare/Fix%20it/Same%20project"]);
  expect(comparedGroups("", [row("Fix it")], "Fix it")).toEqual([]);
});
