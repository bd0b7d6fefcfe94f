// @vitest-environment jsdom
import { render } from "@testing-library/react";
import { expect, test } from "vitest";
import { Markdown } from "../src/markdown/Markdown";
import { PlainText, splitInvisible } from "../src/kit/PlainText";
import shared from "../../tests/fixtures/invisible.json";

test("the same characters are shown by their code as in the terminal, but for line ends and halves of characters", () => {
  const known = new Set<number>();
  for (const [first = 0, last = 0] of shared) for (let code = first; code <= last; code += 1) if (code !== 0x0d && (code < 0xd800 || code > 0xdfff)) known.add(code);
  const found = new Set<number>();
  for (let code = 0; code <= 0x10ffff; code += 1)
    if ((code < 0xd800 || code > 0xdfff) && splitInvisible(` ${String.fromCodePoint(code)} `).length > 1) found.add(code);
  expect([...found]).toEqual([...known]);
});

test("bidi overrides, zero-width and control characters are shown by their code", () => {
  expect(splitInvisible("a\u202Eb\u200Bc\u0007\u{E0041}")).toEqual([
    "a",
    { code: "U+202E" },
    "b",
    { code: "U+200B" },
    "c",
    { code: "U+0007" },
    { code: "U+E0041" },
  ]);
});

test("joiners in emoji and other scripts stay", () => {
  for (const text of ["👩‍👩‍👧", "می‌خواهم", "tab\tand\nline", "naïve"]) expect(splitInvisible(text)).toEqual([text]);
  expect(splitInvisible("pay\u200dpal")).toEqual(["pay", { code: "U+200D" }, "pal"]);
});

test("plain text shows the codes", () => {
  expect(render(<PlainText text={"x\u2066y"} />).container.textContent).toBe("xU+2066y");
});

test("markdown never runs or loads anything", () => {
  const { container } = render(
    <Markdown
      text={[
        "<script>alert(1)</script><img src=x onerror=alert(1)>",
        "[a](javascript:alert(1)) [b](data:text/html,x) [c](https://example.com) [d](src/a.ts) <javascript:alert(1)>",
        "![far](https://example.com/p.png) ![near](javascript:x)",
        "a\u202Eb [^1]",
        "",
        "[^1]: note",
      ].join("\n\n")}
    />,
  );
  expect(container.querySelectorAll("script, img, iframe, style, [id]").length).toBe(0);
  const links = [...container.querySelectorAll("a")];
  expect(links.map((link) => link.getAttribute("href"))).toEqual(["https://example.com", "https://example.com/p.png"]);
  expect(links.every((link) => link.rel === "noopener noreferrer" && link.target === "_blank")).toBe(true);
  expect(container.textContent).toContain("<script>alert(1)</script>");
  expect(container.querySelector(".invisible")?.textContent).toBe("U+202E");
});
