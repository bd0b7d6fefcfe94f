/** No module of `src/` imports itself through others, not even for a type. */

import { expect, test } from "vitest";

const sources = import.meta.glob<string>("../src/**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });

function resolve(from: string, specifier: string): string | undefined {
  const path = new URL(specifier, `file:///web/test/${from}`).pathname.replace("/web/", "../");
  return [`${path}.ts`, `${path}.tsx`].find((file) => file in sources);
}

/** The files that each file imports, statically or dynamically. */
const imports = new Map(
  Object.entries(sources).map(([file, source]) => {
    const found = source.matchAll(/(?:\bfrom\s+|\bimport\s*\(?\s*)"(\.[^"]+)"/g);
    return [file, [...found].flatMap(([, specifier]) => resolve(file, specifier ?? "") ?? [])];
  }),
);

/** The files of a cycle that can be reached from a file, or null. */
function findCycle(file: string, path: string[], done: Set<string>): string[] | null {
  if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
  if (done.has(file)) return null;
  for (const next of imports.get(file) ?? []) {
    const cycle = findCycle(next, [...path, file], done);
    if (cycle) return cycle;
  }
  done.add(file);
  return null;
}

test("there are no import cycles", () => {
  const done = new Set<string>();
  const cycles = [...imports.keys()].flatMap((file) => findCycle(file, [], done) ?? []);
  expect(cycles).toEqual([]);
});

test("the imports are found", () => {
  expect(imports.get("../src/main.tsx")).toEqual(["../src/data/httpSource.ts", "../src/kit/workerStart.ts", "../src/start.tsx"]);
  expect(imports.get("../src/kit/CodeText.tsx")).toContain("../src/kit/highlighter.ts");
});
