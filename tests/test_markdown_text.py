"""Markdown from transcripts, judged by real parsers: cmark-gfm, which forges use, and markdown-it."""

from __future__ import annotations

import html
import json
import os
import random
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from effort import one_in
from markdown_it import MarkdownIt

from reread.base.sanitize import safe
from reread.render.highlight import rendered_markdown, table_parser
from reread.render.markdown_text import LANGUAGES, code, fenced, folded, guarded, inline
from reread.render.terminal import make_console

pytestmark = one_in(2)

SPECIFICATION = Path(__file__).parent.parent / "web/node_modules/commonmark-spec/spec.txt"
EXAMPLE = re.compile(r"^`{32} example\n(.*?)^\.\n", re.MULTILINE | re.DOTALL)

OWN_TAGS = {"details", "summary", "code"}
"""HTML elements that only reread writes."""
MARKDOWN_TAGS = {
    *(
        "p",
        "em",
        "strong",
        "a",
        "code",
        "pre",
        "ul",
        "ol",
        "li",
        "blockquote",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
    ),
    *("br", "table", "thead", "tbody", "tr", "th", "td", "del", "s", "input", "sup", "section"),
}
"""HTML elements that Markdown makes by itself."""
TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)([^>]*)>|<!|<\?")
ADDRESS = re.compile(r'href="([^"]*)"')
DANGEROUS = re.compile(r"\s*(javascript|vbscript|data|file):", re.IGNORECASE)

HOSTILE = [
    "</details><img src=x><a href=javascript:1>",
    "<x>",
    "a `b\nc` <x>",
    "a ` b\n`<x>`",
    r"\`<x>\`",
    "- ```\n<x>\n  ```",
    "- a\n\n  ```\n  code\n<x>",
    "1. a\n\n   ~~~ py\n<x>\n~~~\n<x>",
    "```\ncode\n```\u00a0\n<x>",
    "```\ncode\n```\u3000\n<x>\n```\n<x>",
    "a | b\n--|--\n`c | <x>` | d\n`c|d` `<x>`",
    "![x](https://tracker.example/p.png)",
    "![x][1]\n\n[1]: https://tracker.example/p.png",
    "[x](javascript:1) [x](java&#115;cript:1) [x](javascript&colon;1) [x](\njavascript:1)",
    "[a](https://e.example/`)<x>`",
    "https://e.example/`a <x>`",
    "www.<x`<x>`",
    "[hidden]: # (a comment nobody sees)",
    "[^1]: moved to the end",
    "> ```\n<x>\n> ```\n> > `\n> > <x>`",
    "    ```\n<x>",
    "- a\n    - b\n\n      ```\n    <x>\n      ```\n    <x>",
    "<!-- hidden",
    "<https://e.example/`> <x>`",
    "&#60;x> &lt;x&gt; &#x202e;",
    "text\n---\n***\n# heading\n===",
    "`" * 200 + "<x>" + "`" * 199,
    "~~~\n```\n<x>\n~~~\n<x>",
    "a|b\n-|-\n`q|[x](javascript:1)`|`r|![x](https://tracker.example/p.png)`\n`q|&#x202e;`|`<https://e.x/|<x>`",
    "```TypeError: <x> is undefined\nat a\n```\n~~~ ```js <x>",
]

PIECES = """` `` ``` ```` ~~~ <x> </x> <!-- <x | - 1. 2) > \\ \\` ![ [ ] ]( ( ) https://e.x/ www.e.x javascript:1 <https://e.x>
# &lt; &#60;x> & * _ ]: " ' \u00a0 \u3000 foo@bar.com: $ [^1] <https://e.x`> mailto:a@b.c a""".split()
BREAKS = ["\n", "\n\n", "\n  ", "\n    ", "\n\t", " ", "\n|-|-|\n", "\n--|--\n", "\n---\n", "- ", "> ", "\x0c", "\r"]


def soups(count: int) -> Iterator[str]:
    pick = random.Random(20).choice
    for number in range(count):
        yield "".join(pick(PIECES + BREAKS) for _ in range(2 + number % 17))


def specification() -> list[str]:
    if not SPECIFICATION.exists():
        pytest.skip("the CommonMark specification comes with the web reader's packages: npm ci in web/")
    text = SPECIFICATION.read_text(encoding="utf-8")
    return [example.replace("→", "\t") for example in EXAMPLE.findall(text)]


CODE = [
    'gh pr view <number> && echo "a & b" | tee \\*.txt',
    "if a < b:\n\tx = r'\\.'\n\n        y = '&lt; &amp; &#60;'",
    "1. `ticks` <x>\n- a\n> b\n# c\n[d]: e\n![f](g)\n</details>",
    "    deeper\n~~~\n```\n    ```\nend",
    "all:\n\techo $< \\\\\n\t\tdone",
]
INLINE = ["a < b && c > d", "<T>", r"\*.py \\ \` &lt; &amp; &copy;", "![x](y) [^1] ]("]


def indented(code: str, before: str) -> str:
    return "\n".join(f"{before}{line}" if line else "" for line in code.split("\n"))


def code_blocks() -> Iterator[tuple[str, str]]:
    """Markdown with code in all the places where it can stand, and that code."""
    for text in CODE:
        for fence in ("`````", "~~~~~"):
            for before in ("", "  "):
                item = "- item\n\n" if before else ""
                yield f"{item}{indented(f'{fence}py{chr(10)}{text}{chr(10)}{fence}', before)}\n\nafter", text
        block = indented(text, "    ").expandtabs(4)
        yield f"# Heading\n{block}\n\nafter <x>", text.expandtabs(4)
        yield f"Steps:\n\n{block}\n\nafter <x>", text.expandtabs(4)
        yield f"1. one\n\n{indented(block, '   ')}\n\n   after <x>", text.expandtabs(4)
        yield f"- a\n  - b\nlazy\n\n{indented(block, '    ')}\n- c", text.expandtabs(4)
        yield f"> quoted\n>\n{indented(block, '> ')}".replace("\n\n", "\n>\n"), text.expandtabs(4)
    yield "\tmake <x>\n\n\t\tdone\n", "make <x>\n\n\tdone"


def shared_cases() -> dict[str, list[list[str]]]:
    """Texts and what becomes of them, for the browser, which has the same rules."""
    coded = [text for text, _ in code_blocks()] + [f"see `` {text}\n {text} `` <x>" for text in INLINE]
    texts = [*HOSTILE, *soups(400), *coded, "a\x1b]0;t\x07\u202e", "c\r\nd\re", "\U000e0041 \ufeff"]
    return {
        "guarded": [[text, guarded(text)] for text in texts],
        "inline": [[text, inline(text)] for text in texts],
        "languages": [sorted(LANGUAGES)],
    }


def as_html(markdown: str) -> Iterator[str]:
    yield cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES)
    yield cmarkgfm.markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE)
    yield MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(markdown)


def places(text: str) -> Iterator[str]:
    """A text in the places where documents have foreign Markdown."""
    yield text
    yield "\n".join(f"> {line}".rstrip() for line in text.split("\n")) + "\n\nTHE END"
    yield "\n".join(folded("title", [text])) + "\n\nTHE END"
    yield f"- [ ] item\n\n{text}\n\nTHE END"


def check(text: str) -> None:
    for document in places(guarded(text)):
        for page in as_html(document):
            for tag in TAG.finditer(page):
                assert tag[2] in OWN_TAGS | MARKDOWN_TAGS, (text, document, page)
                assert tag[2] not in ("x", "img"), (text, document, page)
            for address in ADDRESS.findall(page):
                assert not DANGEROUS.match(html.unescape(address)), (text, document, page)
            if document.startswith("<details>"):
                assert page.rstrip().endswith("</details>\n<p>THE END</p>"), (text, document, page)
            elif document.endswith("THE END"):
                assert "<p>THE END</p>" in page, (text, document, page)


def test_the_browser_is_tested_with_the_same_cases() -> None:
    path = Path(__file__).parent / "fixtures/markdown.json"
    if os.environ.get("REREAD_GOLDEN") == "update":
        path.write_text(json.dumps(shared_cases(), indent=0) + "\n")
    assert json.loads(path.read_text()) == shared_cases()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_stays_in_its_place(text: str) -> None:
    check(text)


def test_markdown_of_any_pieces_stays_in_its_place() -> None:
    for text in soups(1500):
        check(text)


def test_the_examples_of_the_specification_stay_in_their_place() -> None:
    examples = specification()
    assert len(examples) > 600
    for text in examples:
        check(text)


@pytest.mark.parametrize(("text", "code"), list(code_blocks()))
def test_blocks_of_code_come_out_as_they_went_in(text: str, code: str) -> None:
    for page in as_html(guarded(text)):
        (block,) = re.findall(r"<pre[^>]*>(?:<code[^>]*>)?(.*?)(?:</code>)?</pre>", page, re.DOTALL)
        assert html.unescape(block).rstrip("\n") == code, (text, page)
    console = make_console(width=200, file=StringIO(), color_system=None)
    console.print(rendered_markdown(text))
    drawn = [line.strip(" ▌") for line in console.file.getvalue().split("\n")]  # type: ignore[attr-defined]
    assert {line.strip() for line in code.expandtabs(4).split("\n")} <= set(drawn), (text, drawn)


@pytest.mark.parametrize("code", [*INLINE, *(f"{text}\n{text}" for text in INLINE)])
def test_inline_code_comes_out_as_it_went_in(code: str) -> None:
    for before in ("", "- ", "> ", "a\nb "):
        text = f"{before}see `` {code} `` <x>"
        if before == "> ":
            text = text.replace("\n", "\n> ")
        for page in as_html(guarded(text)):
            (span,) = re.findall(r"<code>(.*?)</code>", page, re.DOTALL)
            assert html.unescape(span) == code.replace("\n", " "), (text, page)


def test_nothing_is_hidden() -> None:
    """What Markdown would swallow is shown: comments, definitions, footnotes."""
    for text in ("<!-- hidden -->", "[hidden]: # (x)", "[^hidden]: x", "<x hidden>", "[a\nhidden]: /x"):
        for page in as_html(guarded(text)):
            assert "hidden" in re.sub(r"<[^>]*>", "", page)


def test_the_terminal_hides_nothing() -> None:
    """Every word is drawn, but for the languages of code, which are its colours."""
    for text in [*(text for text in specification() if "&" not in text), *HOSTILE, *soups(200), 'a [b](/c "title")']:
        console = make_console(width=200, file=StringIO(), color_system=None)
        console.print(rendered_markdown(safe(text)))
        drawn = "".join(filter(str.isalpha, console.file.getvalue()))  # type: ignore[attr-defined]
        words = set(re.findall(r"[^\W\d_]+", html.unescape(safe(text)))) - LANGUAGES
        assert not {word for word in words if word not in drawn}, (text, drawn)


def test_what_is_more_than_a_language_on_a_fence_is_code() -> None:
    assert guarded("```TypeError: x\n  at foo\n```") == "```\nTypeError: x\n  at foo\n```"
    assert guarded("- ```go // first\n  x\n  ```") == "- ```\n  go // first\n  x\n  ```"
    assert guarded("```TypeError\nx\n```") == "```\nTypeError\nx\n```"
    assert guarded("``` Python \nx\n```") == "```Python\nx\n```"
    assert guarded("~~~ a ``` b") == "````\na ``` b\n````"


def test_code_with_a_bar_is_readable() -> None:
    assert guarded("`Map<K, V> | null` and `a*b`") == "<code>Map&lt;K, V> \\| null</code> and `a*b`"
    assert guarded("`a && b | c`, `x[0]`") == "`a && b | c`, `x[0]`"


def test_ordinary_markdown_stays_as_it_was() -> None:
    for text in (
        "# A title\n\nSome *emphasis*, `code`, `Map<K, V>` and a [link](https://e.example/a_(b)?c=1&d=2).",
        "```py\nif a < b:\n    print('<x>')\n```\n\nafter",
        "- one\n- two\n  - three",
        "| a | b |\n|---|---|\n| `x` | 1 < 2 |",
        "> quoted\n> text",
        'See [the docs](docs/reading.md "Reading") and <https://e.example>.',
        "AT&T, a && b, fish &amp; chips",
    ):
        assert guarded(text) == text


def test_code_is_fenced_anew() -> None:
    assert guarded("a\n```py\nopen <b>") == "a\n\n```py\nopen <b>\n```"
    assert guarded("~~~ py title=x\na ``` b\n~~~") == "````\npy title=x\na ``` b\n````"
    assert guarded("1. a\n\n   ```\n   b\n<x>\n   ```") == "1. a\n\n   ```\n   b\n   <x>\n   ```"
    assert fenced("a ```` b") == "`````\na ```` b\n`````"
    assert fenced("x", "py\n```\n<script>") == "```\nx\n```"
    assert fenced("a\x1b]0;t\x07") == "```\na\\x1b]0;t\\x07\n```"


def test_short_texts_are_plain_text() -> None:
    assert inline("*a* | `b`\n<c>") == "\\*a\\* \\| \\`b\\` \\<c\\>"
    assert [inline(text) for text in ("- a", "1. a", "+", "=")] == ["\\- a", "1\\. a", "\\+", "\\="]
    assert code("a`b") == "``a`b``" and code(" \n") == ""
    for text in HOSTILE + list(soups(300)):
        for page in as_html(f"- {inline(text)}\n\n*{inline(text)}*\n\n{inline(text)}"):
            assert not {tag[2] for tag in TAG.finditer(page)} - MARKDOWN_TAGS, (text, page)
            assert "<pre" not in page and "<table" not in page and "<h" not in page, (text, page)


def test_the_title_of_a_fold_is_one_line_of_text() -> None:
    first, *_ = folded("a\n</details><b>\u202e", ["x"])
    assert first == "<details><summary>a &lt;/details&gt;&lt;b&gt;\\u202e</summary>"


@pytest.mark.parametrize("before", ["", "> ", "- "])
def test_cells_that_are_more_than_a_header_has_are_shown(before: str) -> None:
    rows = ["| a | b |", "|---|---|", "| 1 | 2 | *three* | 4\\|5 |", "| 6 |"]
    text = "\n".join(("  " if before == "- " and n else before) + row for n, row in enumerate(rows))
    console = make_console(file=StringIO(), width=60)
    with console.capture() as captured:
        console.print(rendered_markdown(text))
    lines = [" ".join(line.split()) for line in captured.get().splitlines()]
    assert any(line.endswith("1 2 three 4|5") for line in lines)


@pytest.mark.parametrize("row", ["|" * 3000, "\\|" * 3000, "| a " * 2000, "|\n" * 2000])
def test_a_hostile_table_is_parsed_in_one_pass(row: str) -> None:
    tokens = table_parser().parse(f"| a |\n|---|\n{row}\n")
    assert sum(token.type == "td_open" for token in tokens) <= len(row)
