// Writes the notices of what the built files contain, here and beside them.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const ALLOWED = ["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "0BSD"];
const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));

const notices = Object.entries(lock.packages)
  .filter(([path, { dev }]) => path && !dev)
  .filter(([path]) => !path.includes("/@types/"))
  .map(([path]) => notice(path))
  .toSorted();

function notice(path) {
  const { name, version, license, repository } = JSON.parse(readFileSync(`${path}/package.json`, "utf8"));
  if (!ALLOWED.includes(license)) throw new Error(`${name} has the licence ${license}`);
  const file = readdirSync(path).find((file) => /^licen[cs]e/i.test(file));
  const home = String(repository?.url ?? repository ?? "").replace(/^git\+/, "").replace(/\.git$/, "");
  const text = file ? readFileSync(`${path}/${file}`, "utf8").trim() : `Licence: ${license}`;
  return `${name} ${version} (${license})\n${home}\n\n${text}\n`;
}

const all = `The reader contains these libraries.\n\n${notices.join(`\n${"-".repeat(80)}\n\n`)}`;
writeFileSync("NOTICES", all);
writeFileSync("../src/reread/web/static/NOTICES.txt", all);
