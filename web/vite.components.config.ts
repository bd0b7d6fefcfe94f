import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Confine a selector to the components, without making it more specific. */
function confined(selector: string): string {
  const own = selector.replace(/^(:root|html|body)\b/, ".reread");
  return own === selector ? `:where(.reread) ${selector}` : own;
}

/** The components for other React applications: one module and one style sheet, both built for `npm pack`. */
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
    cssCodeSplit: true,
    lib: { entry: { index: "src/components/index.ts", style: "src/styles/components.css" }, formats: ["es"] },
    rolldownOptions: { external: /^react(-dom)?(\/|$)/ },
  },
});
