// Builds the reader for the server and for exported pages, with the licence notices of its libraries:
// `node build.mjs [--check]`. With --check it changes nothing, and fails if the built files are out of date.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "vite";

const STATIC = resolve("../src/reread/reader/static");
const ALLOWED = ["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "0BSD"];

async function make(folder) {
  for (const [configFile, emptyOutDir] of [["vite.config.ts", true], ["vite.export.config.ts", false]]) {
    await build({ configFile, logLevel: "warn", build: { outDir: folder, emptyOutDir } });
  }
  writeFileSync(join(folder, "NOTICES.txt"), notices());
}

/** The licence notices of all libraries. */
function notices() {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const libraries = Object.keys(packages).filter((path) => path && !packages[path].dev && !path.includes("/@types/"));
  const separator = `\n${"-".repeat(80)}\n\n`;
  return `The reader contains these libraries.\n\n${libraries.map(notice).toSorted().join(separator)}`;
}

function notice(path) {
  const { name, version, license, repository } = JSON.parse(readFileSync(`${path}/package.json`, "utf8"));
  if (!ALLOWED.includes(license)) throw new Error(`${name} has the licence ${license}, which is not in ALLOWED`);
  const file = readdirSync(path).find((file) => /^licen[cs]e/i.test(file));
  const home = String(repository?.url ?? repository ?? "").replace(/^git\+/, "").replace(/\.git$/, "");
  const text = file ? readFileSync(`${path}/${file}`, "utf8").replaceAll("\r", "").trim() : `Licence: ${license}`;
  return `${name} ${version} (${license})\n${home}\n\n${text}\n`;
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
