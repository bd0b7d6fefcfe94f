// Builds the npm package `reread-react` from `src/components`: `node components.mjs FOLDER`.
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "vite";
import { notices } from "./notices.mjs";

const folder = resolve(process.argv[2] ?? "../build/reread-react");

await build({ configFile: "vite.components.config.ts", logLevel: "warn", build: { outDir: folder, emptyOutDir: true } });
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.components.json", "--outDir", join(folder, "types")], {
  stdio: "inherit",
});
const [, version] = /__version__ = "(.+)"/.exec(readFileSync("../src/reread/base/version.py", "utf8")) ?? [];
if (!version) throw new Error("src/reread/base/version.py has no version");
const about = JSON.parse(readFileSync("components/package.json", "utf8"));
writeFileSync(join(folder, "package.json"), `${JSON.stringify({ ...about, version }, null, 2)}\n`);
copyFileSync("components/README.md", join(folder, "README.md"));
copyFileSync("../LICENSE", join(folder, "LICENSE"));
writeFileSync(join(folder, "NOTICES"), notices());
