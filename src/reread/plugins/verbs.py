"""What a verb of the command line imports: a verb is a command of click, and these are options that all verbs share."""

from __future__ import annotations

from reread.base.sanitize import safe_line
from reread.cli._options import json_option, merged_roots, open_session, root_options, scope_options, session_argument
from reread.cli._output import print_json, print_lines, print_notice
from reread.errors import Misuse

__all__ = [
    "Misuse",
    "json_option",
    "merged_roots",
    "open_session",
    "print_json",
    "print_lines",
    "print_notice",
    "root_options",
    "safe_line",
    "scope_options",
    "session_argument",
]
