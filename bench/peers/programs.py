"""The programs that are compared: how each is installed, and how it does each work that it can do.

A program is a class. A method named like a work gives the task that is measured; a program without it cannot do that
work. `forms` are the documents it makes of a session, `listed` the sessions it knows, `spent` the tokens it counts.
"""

import base64
import json
import re
import socket
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import truth
from truth import Tokens

HERE = Path(__file__).parent
SOUGHT = "parse_args"
"""What is searched for when time is measured: not rare."""


class Run(NamedTuple):
    """What a task took: seconds of CPU (all its processes) and of the clock, bytes of memory at most, bytes made."""

    cpu: float
    wall: float
    peak: int
    made: int


class Task(NamedTuple):
    """A command, where it leaves what it makes, and for a server the pages to get before it is ended."""

    argv: Sequence[str | Path]
    made: Path
    env: Mapping[str, str | Path] = {}
    get: Sequence[tuple[str, Path]] = ()


class Failed(Exception):
    """A program that ended with an error."""


class Case(NamedTuple):
    """What a program works on: a configuration folder, one session in it, and an empty folder for what it makes."""

    tree: Path
    session: Path
    out: Path

    @property
    def projects(self) -> Path:
        return self.tree / "projects"

    @property
    def printed(self) -> Path:
        return self.out / "stdout"


def run(case: Case, task: Task) -> Run:
    """Run a task to its end; raise `Failed` with its last words."""
    errors = case.out / "stderr"
    order = {
        "argv": [str(word) for word in task.argv],
        "env": {"CLAUDE_CONFIG_DIR": str(case.tree), **{name: str(value) for name, value in task.env.items()}},
        "cwd": str(case.out),
        "output": str(case.printed),
        "errors": str(errors),
        "get": [(url, str(path)) for url, path in task.get],
    }
    launcher = [sys.executable, "-S", HERE / "launch.py"]
    answer = subprocess.run(launcher, input=json.dumps(order), text=True, check=True, stdout=subprocess.PIPE).stdout
    told = json.loads(answer)
    if told.pop("code"):
        raise Failed(last_words(errors) or last_words(case.printed))
    return Run(**told, made=size(task.made))


def last_words(path: Path) -> str:
    lines = path.read_text("utf-8", "replace").strip().splitlines()
    return lines[-1].strip()[:120] if lines else ""


def size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


class Program:
    name = ""
    version = ""
    forms: Mapping[str, Callable[[Case], dict[str, str]]] = {}
    """What it makes of a session for reading: for each session of a case its text, only letters and digits."""

    def __init__(self, root: Path) -> None:
        self.home = root / f"{self.name}-{self.version}"

    def install(self) -> None:
        """Install it into a folder of its own, once."""

    def listed(self, case: Case) -> set[str] | None:
        """The ids of the sessions it lists; None where it has no listing but what it makes of them."""

    def found(self, case: Case, words: Sequence[str]) -> set[str] | None:
        """The words that a search over all sessions finds; None if there is no such search."""

    def spent(self, case: Case) -> Tokens | None:
        """The tokens it counts; None where it counts none."""

    def leaking(self, case: Case) -> set[str] | None:
        """The ids of the sessions in which it finds a secret; None if it does not look for them."""


class PyPI(Program):
    """A program from PyPI, in a virtual environment."""

    def install(self) -> None:
        if not (self.home / "installed").exists():
            print(f"installing {self.name} {self.version}", file=sys.stderr)
            subprocess.run([sys.executable, "-m", "venv", "--clear", self.home], check=True)
            pip = [self.home / "bin" / "python", "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, f"{self.name}=={self.version}"], check=True)
            (self.home / "installed").touch()

    @property
    def command(self) -> Path:
        return self.home / "bin" / self.name


class ClaudeCodeLog(PyPI):
    name, version = "claude-code-log", "1.7.0"

    @property
    def forms(self) -> Mapping[str, Callable[[Case], dict[str, str]]]:
        return {"HTML": self._html_pages, "Markdown": self._markdown_pages}

    def html(self, case: Case) -> Task:
        made = case.out / "session.html"
        return Task([self.command, case.session, "-o", made, "--no-cache"], made)

    def markdown(self, case: Case) -> Task:
        made = case.out / "session.md"
        return Task([self.command, case.session, "-o", made, "--no-cache"], made)

    def browse(self, case: Case) -> Task:
        for cache in case.projects.glob("claude-code-log-cache*"):
            cache.unlink()
        return self.browse_again(case)

    def browse_again(self, case: Case) -> Task:
        return self._all(case)

    def found(self, case: Case, words: Sequence[str]) -> set[str]:
        """Its search is in the pages that it makes: whatever they say can be found."""
        pages = " ".join(self._html_pages(case).values())
        return {word for word in words if word in pages}

    def _html_pages(self, case: Case) -> dict[str, str]:
        return self._pages(case, "html", truth.page_text)

    def _markdown_pages(self, case: Case) -> dict[str, str]:
        return self._pages(case, "md", truth.plain_text)

    def _pages(self, case: Case, form: str, text: Callable[[str], str]) -> dict[str, str]:
        run(case, self._all(case, "-f", form, "--depth", "hook"))
        made = (case.out / "pages").rglob(f"session-*.{form}")
        return {path.name.removeprefix("session-").split(".")[0]: text(path.read_text("utf-8")) for path in made}

    def _all(self, case: Case, *options: str) -> Task:
        made = case.out / "pages"
        return Task([self.command, "--all-projects", "--projects-dir", case.projects, "-o", made, *options], made)


class ClaudeCodeTranscripts(PyPI):
    name, version = "claude-code-transcripts", "0.6"

    @property
    def forms(self) -> Mapping[str, Callable[[Case], dict[str, str]]]:
        return {"HTML": self._pages}

    def list(self, case: Case) -> Task:
        return Task([self.command, "all", "-s", case.projects, "--dry-run"], case.printed)

    def html(self, case: Case) -> Task:
        made = case.out / "session"
        return Task([self.command, "json", case.session, "-o", made], made)

    def browse(self, case: Case, *options: str) -> Task:
        made = case.out / "pages"
        return Task([self.command, "all", "-s", case.projects, "-o", made, "-q", *options], made)

    browse_again = browse

    def listed(self, case: Case) -> set[str]:
        run(case, self.list(case))
        return set(re.findall(r"^ +- (\S+) \(", case.printed.read_text("utf-8"), re.MULTILINE))

    def _pages(self, case: Case) -> dict[str, str]:
        run(case, self.browse(case, "--include-agents"))
        folders = {page.parent for page in (case.out / "pages").rglob("page-*.html")}
        by_name = {folder.name: "".join(map(_text, sorted(folder.glob("page-*.html")))) for folder in folders}
        agents = {id: truth.agent_files(path) for id, path in truth.main_files(case.tree).items()}
        return {
            id: "\n".join([text, *(by_name.get(agent.stem, "") for agent in agents.get(id, []))])
            for id, text in by_name.items()
        }


def _text(page: Path) -> str:
    return truth.page_text(page.read_text("utf-8"))


class AgentsView(PyPI):
    name, version = "agentsview", "0.46.1"
    everything = "limit=500&include_one_shot=true&include_automated=true&include_children=true"

    @property
    def forms(self) -> Mapping[str, Callable[[Case], dict[str, str]]]:
        return {"HTML": self._html_pages, "Markdown": self._markdown_pages}

    @property
    def command(self) -> Path:
        """The program itself: what is installed as a command only starts it."""
        return next(self.home.glob("lib/*/site-packages/agentsview/bin/agentsview"))

    def html(self, case: Case) -> Task:
        return self._serve(case, {f"sessions/{case.session.stem}/export": "session.html"})

    def markdown(self, case: Case) -> Task:
        return self._serve(case, {f"sessions/{case.session.stem}/md?depth=all": "session.md"})

    def usage(self, case: Case) -> Task:
        """The import, then the report from its database."""
        steps = '"$0" sync >sync.log && "$0" usage daily --all --offline --json --no-sync'
        return Task(["sh", "-c", steps, self.command], case.printed, self._env(case))

    usage_again = usage

    def browse(self, case: Case) -> Task:
        return self._serve(case, {f"sessions?{self.everything}": "sessions.json"})._replace(made=case.out / "data")

    browse_again = browse

    def search(self, case: Case) -> Task:
        return self._search(case, [SOUGHT], case.printed)

    search_again = search

    def found(self, case: Case, words: Sequence[str]) -> set[str]:
        run(case, self._search(case, words, case.out / "answers"))
        answers = (case.out / "answers").read_text("utf-8").splitlines()
        return {word for word, answer in zip(words, map(json.loads, answers), strict=True) if answer.get("matches")}

    def _search(self, case: Case, words: Sequence[str], answers: Path) -> Task:
        """The import, then a server that is asked for each word; its answers are a line each."""
        steps = f"""
            "$0" sync >sync.log
            "$0" serve --no-browser --no-update-check --port {(port := free_port())} >serve.log & server=$!
            all="--include-one-shot --include-automated --include-children"
            ask() {{ "$0" session search --json --server=http://127.0.0.1:{port} $all "$1"; }}
            until ask anything >/dev/null 2>&1; do sleep 0.1; done
            for word in "$@"; do ask "$word" | tr -d '\\n'; echo; done >"{answers.name}.part"
            kill $server
            mv "{answers.name}.part" "{answers}"
        """
        return Task(["sh", "-c", steps, self.command, *words], answers, self._env(case))

    def keep(self, case: Case) -> Task:
        """The import, then the original files and its database, copied to where nothing deletes them."""
        kept = case.out / "kept"
        steps = '"$0" sync >sync.log && "$0" archive capture "$1" --root "claude=$2"'
        return Task(["sh", "-c", steps, self.command, kept, case.tree], kept, self._env(case))

    def secrets(self, case: Case) -> Task:
        """The import, then a scan with all its rules."""
        steps = '"$0" sync >sync.log && "$0" secrets scan'
        return Task(["sh", "-c", steps, self.command], case.printed, self._env(case))

    def leaking(self, case: Case) -> set[str]:
        run(case, self.secrets(case))
        with closing(sqlite3.connect(case.out / "data" / "sessions.db")) as database:
            return {id for (id,) in database.execute("SELECT DISTINCT session_id FROM secret_findings")}

    def listed(self, case: Case) -> set[str]:
        run(case, self.browse(case))
        found = json.loads((case.out / "sessions.json").read_text("utf-8"))["sessions"]
        return {session["id"] for session in found if not session["id"].startswith("agent-")}

    def spent(self, case: Case) -> Tokens:
        run(case, self.usage(case))
        return _tokens(json.loads(case.printed.read_text("utf-8"))["totals"])

    def _html_pages(self, case: Case) -> dict[str, str]:
        return self._pages(case, "export", truth.page_text)

    def _markdown_pages(self, case: Case) -> dict[str, str]:
        return self._pages(case, "md?depth=all", truth.plain_text)

    def _pages(self, case: Case, page: str, text: Callable[[str], str]) -> dict[str, str]:
        """Each session's page and those of its agents, with the results kept that it leaves out by default."""
        (case.out / "data").mkdir()
        (case.out / "data" / "config.toml").write_text("result_content_blocked_categories = []\n")
        families = {id: [id, *(a.stem for a in truth.agent_files(path))] for id, path in sessions(case).items()}
        names = [name for family in families.values() for name in family]
        run(case, self._serve(case, {f"sessions/{name}/{page}": name for name in names}))
        return {
            id: text("\n".join((case.out / name).read_text("utf-8", "replace") for name in family))
            for id, family in families.items()
        }

    def _serve(self, case: Case, pages: Mapping[str, str]) -> Task:
        port = free_port()
        argv = [self.command, "serve", "--no-browser", "--no-update-check", "--port", str(port)]
        get = [(f"http://127.0.0.1:{port}/api/v1/{page}", case.out / name) for page, name in pages.items()]
        return Task(argv, get[0][1], self._env(case), get)

    def _env(self, case: Case) -> dict[str, str | Path]:
        return {
            "AGENTSVIEW_DATA_DIR": case.out / "data",
            "CLAUDE_PROJECTS_DIR": case.projects,
            "AGENTSVIEW_NO_DAEMON": "1",
            "AGENTSVIEW_TELEMETRY_ENABLED": "0",
            "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
        }


def sessions(case: Case) -> dict[str, Path]:
    """The session files of a case, damaged or not."""
    files = case.projects.glob("*/*.jsonl")
    return {path.stem: path for path in files if not path.name.startswith("agent-")}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _tokens(totals: Mapping[str, int]) -> Tokens:
    names = ("inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens")
    return Tokens(*(totals[name] for name in names))


class CCUsage(Program):
    name, version = "ccusage", "20.0.20"

    def install(self) -> None:
        if not (self.home / "node_modules").exists():
            print(f"installing {self.name} {self.version}", file=sys.stderr)
            self.home.mkdir(parents=True, exist_ok=True)
            (self.home / "package.json").write_text('{"private": true}')
            quiet = ["--silent", "--no-fund", "--no-audit"]
            subprocess.run(["npm", "install", *quiet, f"{self.name}@{self.version}"], cwd=self.home, check=True)

    @property
    def command(self) -> Path:
        return self.home / "node_modules" / ".bin" / "ccusage"

    def usage(self, case: Case) -> Task:
        return Task([self.command, "claude", "daily", "--offline", "--json"], case.printed)

    usage_again = usage

    def listed(self, case: Case) -> set[str]:
        run(case, Task([self.command, "claude", "session", "--offline", "--json"], case.printed))
        return {row["sessionId"] for row in json.loads(case.printed.read_text("utf-8"))["sessions"]}

    def spent(self, case: Case) -> Tokens:
        run(case, self.usage(case))
        return _tokens(json.loads(case.printed.read_text("utf-8"))["totals"])


class Library(Program):
    """A Python library, asked through `library.py`."""

    whose = ""

    @property
    def python(self) -> Path | str:
        return self.home / "bin" / "python"

    def messages(self, case: Case) -> Task:
        return self._ask(case, "messages", case.session)

    def _ask(self, case: Case, *question: str | Path) -> Task:
        return Task([self.python, HERE / "library.py", self.whose, *question], case.printed)

    def _answer(self, case: Case, *question: str) -> Any:
        run(case, self._ask(case, *question))
        return json.loads(case.printed.read_text("utf-8"))


class AgentSDK(Library, PyPI):
    name, version = "claude-agent-sdk", "0.2.182"
    whose = "sdk"

    @property
    def forms(self) -> Mapping[str, Callable[[Case], dict[str, str]]]:
        return {"messages": self._dump}

    def list(self, case: Case) -> Task:
        return self._ask(case, "list")

    def listed(self, case: Case) -> set[str]:
        return set(self._answer(case, "list"))

    def _dump(self, case: Case) -> dict[str, str]:
        return {id: truth.squash(text) for id, text in self._answer(case, "dump").items()}


class Reread(Library):
    name = "reread"
    whose = "reread"
    python = sys.executable

    def __init__(self, root: Path) -> None:
        import reread

        self.version = reread.__version__
        super().__init__(root)

    @property
    def forms(self) -> Mapping[str, Callable[[Case], dict[str, str]]]:
        return {"Markdown": self._markdown_pages, "HTML": self._html_pages}

    def list(self, case: Case) -> Task:
        return Task([*self._command, "ls", "--json"], case.printed)

    def html(self, case: Case) -> Task:
        return self._export(case, "html")

    def markdown(self, case: Case) -> Task:
        return self._export(case, "markdown")

    def usage(self, case: Case) -> Task:
        cache = {"XDG_CACHE_HOME": case.out / "cache"}
        return Task([*self._command, "usage", "--json"], case.printed, cache)

    usage_again = usage

    def browse(self, case: Case) -> Task:
        port, made = free_port(), case.out / "library.json"
        argv = [*self._command, "serve", "--no-token", "--no-open", "--port", str(port)]
        page = f"http://127.0.0.1:{port}/api/library"
        return Task(argv, made, {"XDG_CACHE_HOME": case.out / "cache"}, [(page, made)])

    browse_again = browse

    def search(self, case: Case) -> Task:
        return self._search(case, SOUGHT)

    search_again = search

    def found(self, case: Case, words: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for word in words:
            run(case, self._search(case, word))
            found |= {word} if json.loads(case.printed.read_text("utf-8"))["total"] else set()
        return found

    def _search(self, case: Case, query: str) -> Task:
        return Task([*self._command, "search", query, "--json"], case.printed, {"XDG_CACHE_HOME": case.out / "cache"})

    def keep(self, case: Case) -> Task:
        return Task([*self._command, "keep", "--quiet"], case.out / "kept", {"REREAD_ARCHIVE": case.out / "kept"})

    keep_again = keep

    def secrets(self, case: Case) -> Task:
        """Ends with 1 if there are some."""
        steps = '"$0" -m reread share --check --json || test $? = 1'
        return Task(["sh", "-c", steps, sys.executable], case.printed, {"XDG_CACHE_HOME": case.out / "cache"})

    def leaking(self, case: Case) -> set[str]:
        run(case, self.secrets(case))
        return {Path(file["path"]).stem for file in json.loads(case.printed.read_text("utf-8"))["files"]}

    def listed(self, case: Case) -> set[str]:
        return set(self._answer(case, "list"))

    def spent(self, case: Case) -> Tokens:
        run(case, self.usage(case))
        totals = json.loads(case.printed.read_text("utf-8"))["totals"]
        writes = totals["cache_write_5m_tokens"] + totals["cache_write_1h_tokens"]
        return Tokens(totals["input_tokens"], totals["output_tokens"], writes, totals["cache_read_tokens"])

    @property
    def _command(self) -> Sequence[str]:
        return [sys.executable, "-m", "reread"]

    def _export(self, case: Case, form: str) -> Task:
        """With long output whole, as the others write it."""
        made = case.out / f"session.{form}"
        return Task([*self._command, "export", case.session, "-f", form, "--full", "-o", made], made)

    def _markdown_pages(self, case: Case) -> dict[str, str]:
        return {id: truth.plain_text(text) for id, text in self._answer(case, "dump", "markdown").items()}

    def _html_pages(self, case: Case) -> dict[str, str]:
        return {id: truth.squash(unpacked(page)) for id, page in self._answer(case, "dump", "html").items()}


def unpacked(page: str) -> str:
    """The text in an exported page, whose data is JSON, packed in parts; pictures stand between them as they are."""
    plain = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    chunks = re.findall(r"<script[^>]*data-chunk=[^>]*>(.*?)</script>", page, re.DOTALL)
    packed = [base64.b64decode(chunk) for chunk in chunks if not chunk.startswith(PICTURES)]
    parts = [*plain, *(zlib.decompress(part, -zlib.MAX_WBITS) for part in packed)]
    return "\n".join(text for part in parts for text in truth.strings(json.loads(part)))


PICTURES = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")
"""How a picture begins in base64: PNG, JPEG, GIF, WebP."""

PROGRAMS: tuple[type[Program], ...] = (Reread, ClaudeCodeLog, ClaudeCodeTranscripts, AgentsView, CCUsage, AgentSDK)
