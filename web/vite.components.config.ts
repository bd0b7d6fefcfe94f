import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Confine a selector to the components, without making it more specific. */
function confined(selector: string): string {
  const own = selector.replace(/^(:root|html|body)\b/, ".reread");
  return own === selector ? `:where(.reread) ${selector}` : own;
}

/** The components for other React applications: one module with its styles, built for `npm pack`. */
export default defineConfig({
  publicDir: false,
  plugins: [react()],
  css: {
    postcss: {
      plugins: [
        {
          postcssPlugin: "confine",
          Rule(rule) {
            const parent = rule.parent as { name?: string } | undefined;
            if (parent?.name?.endsWith("keyframes") || rule.selector.includes(".reread")) return;
            rule.selectors = rule.selectors.map(confined);
          },
        },
      ],
    },
  },
  build: {
    target: "es2023",
    minify: false,
    lib: { entry: { index: "src/components/index.ts" }, formats: ["es"] },
    // The directive is for frameworks that run components on the server unless told otherwise.
    rolldownOptions: { external: /^react(-dom)?(\/|$)/, output: { banner: '"use client";' } },
  },
});
