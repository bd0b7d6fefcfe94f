import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** Escape `<!--`, `<script` and `</script`, which would end or change an inline script element. */
const escapeForInlining: Plugin = {
  name: "escape-for-inlining",
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type === "chunk") file.code = file.code.replace(/<(?=!--|\/?script)/gi, "\\x3c");
    }
  },
};

/** The reader as one script and one style sheet, for exported pages. */
export default defineConfig({
  publicDir: false,
  plugins: [react(), escapeForInlining],
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    outDir: "../src/reread/reader/static",
    emptyOutDir: false,
    target: "es2023",
    cssCodeSplit: false,
    chunkSizeWarningLimit: 1000,
    lib: { entry: "src/export.tsx", formats: ["iife"], name: "reread", fileName: () => "export.js", cssFileName: "export" },
  },
});
