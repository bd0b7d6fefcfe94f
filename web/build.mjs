// Builds the reader for the server and for exported pages, with the licence notices of its libraries:
// `node build.mjs [--check]`. With --check it changes nothing, and fails if the built files are out of date.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "vite";
import { notices } from "./notices.mjs";

const STATIC = resolve("../src/reread/reader/static");

async function make(folder) {
  for (const [configFile, emptyOutDir] of [["vite.config.ts", true], ["vite.export.config.ts", false]]) {
    await build({ configFile, logLevel: "warn", build: { outDir: folder, emptyOutDir } });
  }
  writeFileSync(join(folder, "NOTICES.txt"), notices());
}

/** The contents of every file in a folder, by path. */
function contents(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).toSorted();
  return new Map(paths.map((path) => [path.slice(folder.length), readFileSync(path).toString("base64")]));
}

if (process.argv.includes("--check")) {
  const fresh = mkdtempSync(join(tmpdir(), "reread-web-"));
  await make(fresh);
  const [built, committed] = [contents(fresh), contents(STATIC)];
  rmSync(fresh, { recursive: true });
  const stale = [...new Set([...built.keys(), ...committed.keys()])].filter((path) => built.get(path) !== committed.get(path));
  if (stale.length) {
    console.error(`The built files are out of date; run \`make web\` and commit them.\n${stale.join("\n")}`);
    process.exit(1);
  }
} else {
  await make(STATIC);
  writeFileSync("NOTICES", notices());
}
