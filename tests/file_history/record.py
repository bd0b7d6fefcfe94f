"""Have the real client change files in its sandbox, and note what is on disk after each of its calls.

    python record.py VERSION[,VERSION...] [SCENARIO...]

Needs root on Linux, and the rig in /tmp/reread-rig: `run.py`, `stub_api.py` and a client in `cc-<version>/`. The client
runs in namespaces of its own, with loopback only, a clean environment and a dummy key. The stub API looks at the
project's files each time the client asks for the next answer, so `disk.json` has the hash of each file after each call.
`<version>/<scenario>/` gets the transcripts, the client's backups and that list.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RIG = Path("/tmp/reread-rig")
WORK = RIG / "file_history"
"""What the sandbox sees of this folder: of /tmp, only the rig is visible in it."""
BOX = f"{RIG}/box"
P = f"{BOX}/proj"
PLACE = "/home/dev/proj"
"""What the project's folder is called in the copies."""
CRLF, BOM = "\r\n", "\ufeff"
LINES = "".join(f"line {n}\n" for n in range(1, 13))
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "cell-a", "metadata": {}, "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "id": "cell-b",
            "metadata": {},
            "execution_count": 1,
            "outputs": [],
            "source": ["print('hi')"],
        },
    ],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
FILES = {
    "a.py": "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n\t# tab\n    return a - b\n",
    "b.txt": LINES,
    "c.txt": LINES,
    "crlf.txt": LINES.replace("\n", CRLF),
    "bom.txt": BOM + LINES,
    "bomcrlf.txt": BOM + LINES.replace("\n", CRLF),
    "mixed.txt": "one\r\ntwo\r\nthree\nfour\r\n",
    "utf16.txt": (BOM + LINES).encode("utf-16-le"),
    "utf16crlf.txt": (BOM + LINES.replace("\n", CRLF)).encode("utf-16-le"),
    "latin.txt": "caf\xe9\nbar\n".encode("latin-1"),
    "open.txt": "no newline\nat the end",
    "empty.txt": "",
    "quotes.md": "She said \u201chello\u201d and it\u2019s fine.\nSecond \u2018line\u2019.\n",
    "big.txt": "".join(f"{n:05} {'word ' * 9}\n" for n in range(400)),
    "nb.ipynb": json.dumps(NOTEBOOK, indent=1),
    "nbcrlf.ipynb": json.dumps(NOTEBOOK, indent=1).replace("\n", CRLF),
    "old/name.txt": LINES,
}


def digests(path: Path) -> dict[str, str]:
    """Return the hash of a file's bytes, and that of its text with line ends as the client sees them."""
    data = path.read_bytes()
    wide = data[:2] == b"\xff\xfe" or data[1:2] == b"\0"
    text = data.decode("utf-16-le" if wide else "utf-8", "replace").removeprefix(BOM).replace(CRLF, "\n")
    return {"bytes": hashlib.sha256(data).hexdigest(), "text": hashlib.sha256(text.encode()).hexdigest()}


def disk() -> dict[str, Any]:
    """Return the hashes of the project's files."""
    paths = (Path(top, name) for top, _, names in os.walk(P) if ".git" not in Path(top).parts for name in names)
    return {str(path.relative_to(P)): digests(path) for path in sorted(paths) if path.is_file()}


def in_box(version: str, wanted: list[str]) -> None:
    """Run the scenarios of one version; this process is in the sandbox."""
    sys.path.insert(0, str(RIG))
    import run  # pyright: ignore[reportMissingImports]
    import scenarios  # pyright: ignore[reportMissingImports]
    import stub_api  # pyright: ignore[reportMissingImports]

    machine = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
    client = run.client

    def own_client(name: str) -> list[str]:
        words = client(name)
        return [word.replace("linux-x64", f"linux-{machine}") for word in words]

    run.client = own_client
    seen: list[dict[str, Any]] = []

    def watched(turn: Any) -> Callable[[Any], Any]:
        def answer(context: Any) -> Any:
            used = [
                block["id"]
                for message in context.messages
                for block in (message["content"] if isinstance(message["content"], list) else ())
                if block.get("type") == "tool_use"
            ]
            seen.append({"calls": used, "files": disk()})
            return turn(context) if callable(turn) else turn

        return answer

    scenarios.FILES.clear()
    scenarios.FILES.update(FILES)
    scenarios.SCRIPTS.clear(), scenarios.CASES.clear(), scenarios.ORDER.clear()
    define(scenarios)
    for name, turns in scenarios.SCRIPTS.items():
        scenarios.SCRIPTS[name] = [watched(turn) for turn in turns]

    def step_do(_: Any, command: str) -> dict[str, Any]:
        seen.append({"do": command, "before": disk()})
        subprocess.run(["/bin/bash", "-c", command], cwd=P, check=True)
        seen[-1]["files"] = disk()
        return {}

    run.Box.step_do = step_do
    box = run.Box(version)
    assert stub_api.STATE is not None
    for name in wanted or scenarios.ORDER:
        seen.clear()
        meta = box.run(name, True)
        folder = Path(run.H, "golden", version, name)
        (folder / "disk.json").write_text(json.dumps(seen))
        print(
            version,
            name,
            [{k: s.get(k) for k in ("kind", "rc", "notes", "exception")} for s in meta["steps"]],
            flush=True,
        )
        hooked = Path(BOX, "hooked.json")
        if hooked.exists():
            (folder / "hooked.json").write_text(hooked.read_text())
        keep(folder, WORK / version / name)


def keep(folder: Path, target: Path) -> None:
    """Copy what the tests need, without the client's own prose."""
    from take import cut_line  # pyright: ignore[reportMissingImports]

    shutil.rmtree(target, ignore_errors=True)
    for path in [*folder.glob("projects/**/*.jsonl"), *folder.glob("projects/**/*.meta.json")]:
        copy = target / str(path.relative_to(folder)).replace(P.replace("/", "-"), PLACE.replace("/", "-"))
        copy.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_bytes().replace(P.encode(), PLACE.encode()).split(b"\n")
        copy.write_bytes(b"\n".join(map(cut_line, lines)))
    for path in folder.glob("file-history/*/*"):
        copy = target / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    looks = compact(json.loads((folder / "disk.json").read_text()))
    if (folder / "hooked.json").exists():
        looks["hooked"] = json.loads((folder / "hooked.json").read_text())
    (target / "disk.json").write_text(json.dumps(looks, indent=1))


def compact(seen: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the files at the start, and of each later look only what changed."""
    first = seen[0]["files"] if "do" not in seen[0] else seen[0]["before"]
    looks, last = [], first
    for look in seen:
        files = look.pop("files")
        look.pop("before", None)
        look["changed"] = {name: files.get(name) for name in {**last, **files} if files.get(name) != last.get(name)}
        last = files
        looks.append(look)
    return {"files": first, "looks": looks}


def define(s: Any) -> None:
    """Define what the stub answers, and how the client is driven."""
    T, use, _text, case, end = s.T, s.use, s.text, s.case, s.END
    AGENT = ["Agent", "Task"]

    def read(name: str, **more: Any) -> Any:
        return use("Read", {"file_path": f"{P}/{name}", **more})

    def edit(name: str, old: str, new: str, every: bool = False) -> Any:
        extra = {"replace_all": True} if every else {}
        return use("Edit", {"file_path": f"{P}/{name}", "old_string": old, "new_string": new, **extra})

    def write(name: str, content: str) -> Any:
        return use("Write", {"file_path": f"{P}/{name}", "content": content})

    def bash(command: str) -> Any:
        return use("Bash", {"command": command, "description": "Run"})

    def cell(mode: str, id: str, source: str, name: str = "nb.ipynb") -> Any:
        values = {"notebook_path": f"{P}/{name}", "cell_id": id, "new_source": source, "edit_mode": mode}
        return use("NotebookEdit", {**values, **({"cell_type": "markdown"} if mode == "insert" else {})})

    def turns(*blocks: Any) -> list[Any]:
        return [*(T(*(block if isinstance(block, list) else [block])) for block in blocks), end]

    case(
        "edits",
        turns(
            [read("a.py"), read("b.txt"), read("open.txt"), read("empty.txt")],
            edit("a.py", "return a + b", "return b + a"),
            edit("a.py", "(a, b)", "(x, y)", every=True),
            edit("a.py", "    return a - b", ""),
            edit("a.py", "\t# tab\n", "\t# tab one\n\t# tab two\n"),
            edit("a.py", "not there", "zz"),
            [edit("b.txt", "line 2\n", "line two\n"), edit("b.txt", "line 11\n", "line eleven\nand more\n")],
            edit("b.txt", "line 5\nline 6\n", ""),
            edit("b.txt", "line 7", "line $& $1 \\1 7   "),
            edit("open.txt", "at the end", "at the very end"),
            edit("open.txt", "no newline", "a newline\n"),
            edit("new/made.txt", "", "made by Edit\n"),
            edit("empty.txt", "", "no longer empty\n"),
            edit("new/made.txt", "made", "really made"),
        ),
    )
    case(
        "writes",
        turns(
            write("new.txt", "one\ntwo\n"),
            write("new.txt", "one\n2\nthree"),
            [read("b.txt"), read("crlf.txt"), read("bom.txt"), read("mixed.txt"), read("utf16.txt")],
            write("b.txt", "replaced\nwhole\n"),
            write("crlf.txt", "now\nwritten\n"),
            write("bom.txt", "now\nwritten\n"),
            write("mixed.txt", "now\nwritten\n"),
            write("utf16.txt", "now\nwritten\n"),
            write("given.txt", "with\r\ncarriage\r\nreturns\r\n"),
            edit("given.txt", "carriage", "some carriage"),
            write("nothing.txt", ""),
            write("nothing.txt", "something\n"),
            edit("b.txt", "whole", "all"),
            edit("crlf.txt", "written", "edited"),
        ),
    )
    case(
        "endings",
        turns(
            [
                read(name)
                for name in (
                    "crlf.txt",
                    "bom.txt",
                    "bomcrlf.txt",
                    "mixed.txt",
                    "utf16.txt",
                    "utf16crlf.txt",
                    "latin.txt",
                )
            ],
            edit("crlf.txt", "line 2\nline 3", "line two\nline three\nand more"),
            edit("bom.txt", "line 2\n", "line two\n"),
            edit("bomcrlf.txt", "line 2\n", "line two\n"),
            edit("mixed.txt", "three", "3"),
            edit("mixed.txt", "four", "4"),
            edit("utf16.txt", "line 2\n", "line two\n"),
            edit("utf16crlf.txt", "line 2\n", "line two\n"),
            edit("latin.txt", "bar", "baz"),
            edit("crlf.txt", "line 9", "line nine"),
        ),
    )
    case(
        "quotes",
        turns(
            read("quotes.md"),
            edit("quotes.md", 'said "hello" and', 'said "good bye" and'),
            edit("quotes.md", "it's fine", "it's 'quite' fine"),
            edit("quotes.md", "Second", "Second   "),
            edit("quotes.md", "\\u201cgood", "\\u201cvery good"),
            [read("a.py")],
            edit("a.py", "return a + b", "return a + b   \n    # spaces   "),
        ),
    )
    case(
        "notebooks",
        turns(
            [read("nb.ipynb"), read("nbcrlf.ipynb")],
            cell("replace", "cell-b", "print('changed')"),
            cell("insert", "cell-a", "# new"),
            cell("delete", "cell-b", ""),
            cell("replace", "cell-a", "other", "nbcrlf.ipynb"),
        ),
    )
    case(
        "multi",
        turns(
            read("a.py"),
            use(
                "MultiEdit",
                {
                    "file_path": f"{P}/a.py",
                    "edits": [
                        {"old_string": "def add", "new_string": "def plus"},
                        {"old_string": "(a, b)", "new_string": "(c, d)", "replace_all": True},
                    ],
                },
            ),
            use("MultiEdit", {"file_path": f"{P}/made.py", "edits": [{"old_string": "", "new_string": "x = 1\n"}]}),
        ),
    )
    case(
        "big",
        turns(
            read("big.txt"),
            edit("big.txt", "00003 ", "3 "),
            edit("big.txt", "00399 ", "399 "),
            write("big.txt", "small\n"),
            edit("big.txt", "small", "tiny"),
        ),
    )
    s.SCRIPTS["agent_one"] = turns(
        read("b.txt"), edit("b.txt", "line 3\n", "line three by the agent\n"), write("by_agent.txt", "agent\n")
    )
    s.SCRIPTS["agent_two"] = turns(
        read("c.txt"), edit("c.txt", "line 4\n", "line four by the agent\n"), edit("c.txt", "line 5\n", "five\n")
    )

    def start(name):
        return use(
            AGENT,
            {
                "description": name,
                "prompt": f"Work. [[SCN:{name}]]",
                "subagent_type": "general-purpose",
                "run_in_background": False,
            },
        )

    case(
        "agents",
        turns(
            read("b.txt"),
            edit("b.txt", "line 1\n", "line one\n"),
            start("agent_one"),
            read("b.txt"),
            edit("b.txt", "line 9\n", "line nine\n"),
            [start("agent_one"), start("agent_two")],
            edit("by_agent.txt", "agent", "agent and main"),
        ),
    )
    s.SCRIPTS["hand_two"] = turns(
        edit("b.txt", "line 9\n", "line nine\n"),
        read("b.txt"),
        edit("b.txt", "line 10\n", "line ten\n"),
        read("c.txt"),
        edit("c.txt", "line 1\n", "line one\n"),
    )
    case(
        "hand",
        turns(
            read("b.txt"),
            edit("b.txt", "line 1\n", "line one\n"),
            read("c.txt"),
            edit("c.txt", "line 2\n", "line two\n"),
        ),
        steps=[
            ("p", "Begin. [[SCN:hand]]", []),
            ("do", "sed -i 's/line 5/line 5 by hand/' b.txt && rm c.txt && printf 'line 1\\nnew\\n' > c.txt"),
            ("p", "Go on. [[SCN:hand_two]]", ["--resume", "{SID}"]),
        ],
    )
    case(
        "shell",
        turns(
            [read("a.py"), read("b.txt"), read("c.txt"), read("old/name.txt")],
            edit("a.py", "return a + b", "return b + a"),
            bash("mv a.py moved.py"),
            [read("moved.py")],
            edit("moved.py", "return a - b", "return b - a"),
            edit("b.txt", "line 1\n", "line one\n"),
            bash("rm b.txt"),
            write("b.txt", "again\n"),
            edit("c.txt", "line 1\n", "line one\n"),
            bash("sed -i 's/line 7/line seven/' c.txt"),
            edit("c.txt", "line 2\n", "line two\n"),
            read("c.txt"),
            edit("c.txt", "line 3\n", "line three\n"),
            edit("old/name.txt", "line 1\n", "line one\n"),
            bash("git mv old/name.txt old/other.txt && rm moved.py"),
            bash("mv missing.txt nowhere.txt"),
            bash("cd old && echo more >> other.txt"),
            bash("rm -r old"),
        ),
    )
    s.SCRIPTS["two_b"] = turns(
        read("b.txt"), edit("b.txt", "line 2\n", "line two\n"), write("shared.txt", "by the second\n")
    )
    s.SCRIPTS["two_c"] = turns(
        read("b.txt"),
        edit("b.txt", "line 3\n", "line three\n"),
        read("shared.txt"),
        edit("shared.txt", "by", "written by"),
    )
    case(
        "two",
        turns(read("b.txt"), edit("b.txt", "line 1\n", "line one\n"), write("shared.txt", "by the first\n")),
        steps=[
            ("p", "First session. [[SCN:two]]", ["--session-id", "11111111-1111-4111-8111-111111111111"]),
            ("p", "Second session. [[SCN:two_b]]", []),
            ("p", "First again. [[SCN:two_c]]", ["--resume", "11111111-1111-4111-8111-111111111111"]),
        ],
    )
    # the hook notes what the tool wrote, and then changes it
    note = f"""/usr/bin/python3 {WORK}/record.py --hook"""
    format_hook = {
        "hooks": {"PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": note}]}]}
    }
    case(
        "hooked",
        turns(
            read("b.txt"),
            edit("b.txt", "line 1\n", "ugly line\n"),
            edit("b.txt", "line 2\n", "line two\n"),
            read("b.txt"),
            edit("b.txt", "line 3\n", "line three\n"),
        ),
        settings=format_hook,
    )
    altered = {"file_path": f"{P}/b.txt", "old_string": "line 1\n", "new_string": "line one by the hook\n"}
    answer = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": altered}
    say = f"echo '{json.dumps({'hookSpecificOutput': answer})}'"
    alter_hook = {"hooks": {"PreToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": say}]}]}}
    case("altered", turns(read("b.txt"), edit("b.txt", "line 1\n", "line one\n")), settings=alter_hook)
    case(
        "mention",
        turns(edit("b.txt", "line 1\n", "line one\n"), edit("b.txt", "line 2\n", "line two\n")),
        prompt="See @b.txt please.",
    )
    s.SCRIPTS["rewind_two"] = turns(
        edit("b.txt", "line 2\n", "line two\n"),
        write("later.txt", "later\n"),
        edit("crlf.txt", "line 2\n", "line two\n"),
    )
    s.SCRIPTS["rewind_three"] = turns(
        read("b.txt"),
        edit("b.txt", "line 3\n", "line three\n"),
        read("crlf.txt"),
        edit("crlf.txt", "line 3\n", "line three\n"),
    )
    case(
        "rewind",
        turns(
            [read("b.txt"), read("crlf.txt")],
            edit("b.txt", "line 1\n", "line one\n"),
            edit("crlf.txt", "line 1\n", "line one\n"),
        ),
        steps=[
            (
                "tmux",
                [
                    ("say", "First [[SCN:rewind]]"),
                    ("wait", "All done"),
                    ("sleep", 1),
                    ("say", "Second [[SCN:rewind_two]]"),
                    ("sleep", 9),
                    ("key", "Escape"),
                    ("sleep", 0.4),
                    ("key", "Escape"),
                    ("sleep", 1.5),
                    ("snap", "menu"),
                    ("key", "Up"),
                    ("sleep", 0.5),
                    ("key", "Enter"),
                    ("sleep", 1.2),
                    ("snap", "confirm"),
                    ("key", "Enter"),
                    ("sleep", 2),
                    ("snap", "rewound"),
                    ("clearline",),
                    ("say", "Third [[SCN:rewind_three]]"),
                    ("sleep", 9),
                ],
                [],
            )
        ],
        timeout=90,
    )


def note_hooked() -> None:
    """Run as a hook: note the hash of the file that a tool wrote, and change the file."""
    path, notes = Path(P, "b.txt"), Path(BOX, "hooked.json")
    seen = json.loads(notes.read_text()) if notes.exists() else []
    notes.write_text(json.dumps([*seen, digests(path)]))
    path.write_text(path.read_text().replace("ugly", "pretty"))


def outer(version: str, names: list[str]) -> None:
    """Run the scenarios of one version in a sandbox, and copy what they left to this folder."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    for path in (HERE / "record.py", HERE.parent / "real" / "take.py"):
        shutil.copy(path, WORK)
    words = ["env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/bin", f"HOME={RIG}/home", "LANG=C.UTF-8"]
    words += ["unshare", "-n", "-m", "-p", "--fork", "--mount-proc", "--kill-child", "/usr/bin/python3"]
    subprocess.run([*words, f"{WORK}/record.py", "--inner", version, *names], check=True)
    for folder in (WORK / version).iterdir():
        shutil.rmtree(HERE / version / folder.name, ignore_errors=True)
        shutil.copytree(folder, HERE / version / folder.name)


if __name__ == "__main__":
    if sys.argv[1] == "--inner":
        in_box(sys.argv[2], sys.argv[3:])
    elif sys.argv[1] == "--hook":
        note_hooked()
    else:
        for version in sys.argv[1].split(","):
            outer(version, sys.argv[2:])
