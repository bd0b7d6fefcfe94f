// Builds the reader twice, for the server and for exported pages, with the notices of what is inside:
// `node build.mjs [--check]`. With --check nothing is changed: it fails where the built files are not those.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "vite";

const BUILT = resolve("../src/reread/reader/static");
const ALLOWED = ["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "0BSD"];

async function make(folder) {
  for (const [configFile, emptyOutDir] of [["vite.config.ts", true], ["vite.export.config.ts", false]]) {
    await build({ configFile, logLevel: "warn", build: { outDir: folder, emptyOutDir } });
  }
  writeFileSync(join(folder, "NOTICES.txt"), notices());
}

/** The licence of every library that may be inside. */
function notices() {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const inside = Object.keys(packages).filter((path) => path && !packages[path].dev && !path.includes("/@types/"));
  const rule = `\n${"-".repeat(80)}\n\n`;
  return `The reader contains these libraries.\n\n${inside.map(notice).toSorted().join(rule)}`;
}

function notice(path) {
  const { name, version, license, repository } = JSON.parse(readFileSync(`${path}/package.json`, "utf8"));
  if (!ALLOWED.includes(license)) throw new Error(`${name} has the licence ${license}`);
  const file = readdirSync(path).find((file) => /^licen[cs]e/i.test(file));
  const home = String(repository?.url ?? repository ?? "").replace(/^git\+/, "").replace(/\.git$/, "");
  const text = file ? readFileSync(`${path}/${file}`, "utf8").replaceAll("\r", "").trim() : `Licence: ${license}`;
  return `${name} ${version} (${license})\n${home}\n\n${text}\n`;
}

/** Every file below a folder with its bytes. */
function contents(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).toSorted();
  return new Map(paths.map((path) => [path.slice(folder.length), readFileSync(path).toString("base64")]));
}

if (process.argv.includes("--check")) {
  const fresh = mkdtempSync(join(tmpdir(), "reread-web-"));
  await make(fresh);
  const [made, kept] = [contents(fresh), contents(BUILT)];
  rmSync(fresh, { recursive: true });
  const stale = [...new Set([...made.keys(), ...kept.keys()])].filter((path) => made.get(path) !== kept.get(path));
  if (stale.length) {
    console.error(`The built files are stale: run \`make web\` and commit them.\n${stale.join("\n")}`);
    process.exit(1);
  }
} else {
  await make(BUILT);
  writeFileSync("NOTICES", notices());
}
