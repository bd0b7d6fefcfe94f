"""Documents of lines of a few kinds, as Markdown, and as an HTML page without scripts that mail programs show, too."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import pairwise

from reread.render.markdown_text import inline

TITLE, HEAD, SUBHEAD = "title", "head", "subhead"
FACTS, PARAGRAPH, ITEM, QUOTE = "facts", "paragraph", "item", "quote"
Line = tuple[str, str]
"""The kind of a line, and its text."""
MARKS = {TITLE: "# ", HEAD: "## ", SUBHEAD: "### ", FACTS: "", PARAGRAPH: "", ITEM: "- ", QUOTE: "> "}
TAGS = {TITLE: "h1", HEAD: "h2", SUBHEAD: "h3", FACTS: 'p class="quiet"', PARAGRAPH: "p", ITEM: "li"}
AROUND = {ITEM: "ul", QUOTE: "blockquote"}
"""The element around lines of one kind that follow each other."""
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
    "h1{font-size:1.4em}h2{font-size:1.15em;border-bottom:1px solid #ddd}h3{font-size:1em;margin-bottom:.2em}"
    "p,ul{margin:.2em 0 .6em}.quiet{color:#666}code{font-size:.9em}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}h2{border-color:#444}.quiet{color:#999}}"
)
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def document_markdown(lines: Iterable[Line]) -> str:
    """Return a document as Markdown."""
    rows = list(lines)
    ends = ["\n" if kind == after and kind in AROUND else "\n\n" for (kind, _), (after, _) in pairwise(rows)]
    texts = (f"{MARKS[kind]}{inline(text)}".rstrip() for kind, text in rows)
    return "".join(map("".join, zip(texts, [*ends, "\n"], strict=True)))


def document_html(title: str, lines: Iterable[Line], *, style: str = "") -> str:
    """Return a document as an HTML page, with what its style has besides that of all."""
    out: list[str] = []
    around = ""
    for kind, text in (*lines, ("", "")):
        now = AROUND.get(kind, "")
        if now != around:
            out += [f"</{around}>"] if around else []
            out += [f"<{now}>"] if now else []
            around = now
        if kind == QUOTE:
            out.append(f"{escape(text)}<br>")
        elif kind:
            out.append(f"<{TAGS[kind]}>{escape(text)}</{TAGS[kind].split()[0]}>")
    return PAGE.format(title=escape(title), style=f"{STYLE}{style}", body="\n".join(out))
