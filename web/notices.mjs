// The licence notices of the libraries in the built files.
import { readdirSync, readFileSync } from "node:fs";

const ALLOWED = ["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "0BSD", "PSF-2.0"];

/** The licence notices of all libraries. */
export function notices() {
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
