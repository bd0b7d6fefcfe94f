import { expect, test } from "vitest";
import fixture from "../../tests/fixtures/file_tree.json";
import { fileRows } from "../src/nodes/fileTree";

test.each(Object.entries(fixture))("%s", (_, [paths, lines]) => {
  const rows = fileRows((paths ?? []).map((path) => ({ path, note: null })));
  expect(rows.map(({ depth, folder, name }) => "  ".repeat(depth) + folder + name)).toEqual(lines);
});

test("the note of a file is on its row", () => {
  const rows = fileRows([{ path: "src/a.py", note: "3" }, { path: "src/b.py", note: null }]);
  expect(rows.map(({ note }) => note)).toEqual([null, "3", null]);
});
