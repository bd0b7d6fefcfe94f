"""The exit codes of the command line."""

from __future__ import annotations

OK, NOTHING_FOUND, FAILED, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 130

EVERY_VERB = {
    OK: "it is done, or the reader of a pipe has closed it",
    FAILED: "an error, with a message that says what to do: a wrong option, no such session, an unreadable file",
    INTERRUPTED: "Ctrl-C",
}
"""The codes that every verb has, and their meaning."""
_NO_PROJECT = "no session is in `--project`"
_NO_CALLS = "no call fits `--tool`, `--file` and `--errors`"
_NO_REQUEST = "there is no such API request"
_UNDECIDED = "somebody has to decide about what may be a secret; nothing was written"
BY_VERB: dict[str, dict[int | str, str]] = {
    "ls": {1: "no session fits the options"},
    "search": {1: "nothing matches"},
    "show": {1: f"{_NO_PROJECT}, {_NO_CALLS}, or there is no such API request"},
    "context": {1: _NO_REQUEST},
    "diff": {1: _NO_REQUEST},
    "tail": {1: _NO_PROJECT},
    "statusline": {1: "with `--install`, you said no"},
    "budget": {1: "a budget is overspent, or there is none to remove"},
    "digest": {1: "no session did anything", "other": "with `--exec`, that of the command"},
    "now": {0: "a session waits for somebody", 1: "none does"},
    "files": {1: f"{_NO_PROJECT}, or the session did not change `--file`"},
    "blame": {1: "no session wrote any of the lines"},
    "review": {1: "there are no commits in the range, or with `--note` no notes about them", 3: _UNDECIDED},
    "check": {1: "there are errors"},
    "usage": {
        1: "no response fits the options (with `--fail-over`: no such project or model), "
        "or it costs more than `--fail-over`"
    },
    "stats": {1: "no call or turn fits the options"},
    "tables": {1: "with `--check`, something is not as its machine wrote it"},
    "advise": {1: "no session fits the options"},
    "keep": {1: "a file could not be kept, or is damaged; the timer could not be started; or you said no"},
    "capture": {"other": "that of the command, or 128 plus the signal that ended it; 74 if not all could be recorded"},
    "resume": {1: f"{_NO_PROJECT}, or you said no", "other": "that of Claude Code"},
    "rerun": {
        0: "everything is equal",
        1: "something differs",
        3: "it could not be played: the client did not start or end, or asked for what is not recorded",
    },
    "replay": {"other": "with `--as-claude`, that of the recorded run, or 3 if the recording does not fit"},
    "export": {1: f"{_NO_PROJECT}, {_NO_CALLS}, or a page of several could not be written", 3: _UNDECIDED},
    "share": {1: f"{_NO_PROJECT}, or {_NO_CALLS}; with `--check`, there are secrets", 3: _UNDECIDED},
    "delete": {1: "no session fits the options, the trash is empty, or you said no"},
}
"""Other codes by verb, and their meaning."""
