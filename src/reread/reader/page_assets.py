"""The reader's script and style, inside an exported page or in files beside it."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from html import escape
from pathlib import Path

import msgspec

from reread.base.sanitize import safe
from reread.base.version import __version__
from reread.errors import Unreadable

STATIC = Path(__file__).with_name("static")
NOTICES = "NOTICES.txt"
"""The licences of the libraries in the script, which must go where the script goes."""


class Assets(msgspec.Struct, frozen=True):
    """How a page loads the reader's script and style."""

    head: str
    """The elements in the page's head."""
    script: str
    """The element at the end of its body."""
    policy: str
    """Its content security policy."""


@cache
def inline_assets() -> Assets:
    """The script and style inside the page; the policy allows these two by their hashes and nothing else."""
    script, style = reader_file("export.js"), reader_file("export.css")
    return Assets(
        head=f"<style>{style}</style>",
        script=f"<script>{script}</script>\n{_comment(reader_file(NOTICES))}",
        policy=_policy(f"'{_digest(script)}'", f"'{_digest(style)}'"),
    )


def _comment(text: str) -> str:
    """A comment in HTML; nothing in it can end it."""
    return "<!--\n" + re.sub("-(?=-)", "- ", text) + "\n-->"


def shared_assets(folder: str) -> Assets:
    """The script and style in files of a folder that several pages share."""
    return Assets(
        head=f'<link rel="stylesheet" href="{folder}/reader.css">',
        script=f'<script src="{folder}/reader.js"></script>',
        policy=_policy("'self' file:", "'self' file:"),
    )


def _policy(script: str, style: str) -> str:
    rules = [
        f"script-src {script}",
        f"style-src {style}",
        "img-src blob:",
        "worker-src blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(["default-src 'none'", *rules])


def reader_file(name: str) -> str:
    """The text of one of the reader's built files."""
    try:
        text = (STATIC / name).read_text("utf-8")
    except OSError as error:
        raise Unreadable(f"Cannot read the built reader {STATIC / name}; install reread again.") from error
    return text.replace("</script", "<\\/script").replace("</style", "<\\/style")


def page_head(title: str, policy: str) -> str:
    """How an exported page begins, up to its style; nothing that reads it asks the network or is told where it is."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="robots" content="noindex">\n'
        f'<meta name="generator" content="reread {__version__}">\n'
        f"<title>{escape(safe(title))}</title>\n"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
