import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The reader for `reread serve`. */
export default defineConfig({
  plugins: [react()],
  base: "./",
  build: {
    outDir: "../src/reread/reader/static",
    emptyOutDir: true,
    target: "es2023",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
  },
});
