"""Makes a home of 640 sessions to look at the reader with: `python bench/home.py /tmp/home` says how to serve it.

They are the samples, copies of these and of the real client's files on other days, in other projects and on other
branches, and generated ones. There are equal titles, titles in other scripts, Windows paths, forty agents, a session
of three days, captured ones, stars, and kept copies of deleted files. `REREAD_REAL_CLIENT` can name a folder with more
files.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import gen

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "src/reread/samples"
REAL = Path(os.environ.get("REREAD_REAL_CLIENT", ROOT / "tests/real"))
SESSIONS = 640
EQUAL = 38
PROJECTS = {
    "/home/sam/work/harbor": 9,
    "/home/sam/work/lantern": 6,
    "/home/sam/work/almanac": 5,
    "/home/sam/work/clients/northwind/warehouse/services/inventory-api": 3,
    "C:\\Users\\Sam\\source\\repos\\Ledger.Web": 3,
    "/Users/sam/Sites/böcker": 2,
    "/home/sam/研究/翻訳ツール": 2,
    "/srv/ci/checkout": 2,
    "/home/sam/dotfiles": 1,
    "/home/sam/work/infra/terraform": 1,
    "/tmp/scratch": 1,
    "/home/sam/work/legacy/perl-mailer": 1,
}
"""Folders, and how many sessions each has beside the others."""
BRANCHES = [
    *["main"] * 5,
    "backoff-ceiling",
    "feature/dead-letters",
    "feature/very/long/prefix/retry-budget-per-tenant",
    "fix/JIRA-4312-token-refresh",
    "dependabot/npm_and_yarn/vite-7.1.4",
    "",
]
TITLES = [
    "Fix the flaky ceiling test",
    "Dead-letter queue",
    "Why is the bundle 4 MB?",
    "再試行の上限を直して、テストを追加する",
    "修复翻译工具的缓存失效问题并补充单元测试",
    "Move the pagination to cursors and keep the old links working for a release, then remove what nobody uses",
    "Add <b>bold</b> to the editor & escape it",
    "הוסף תמיכה בכתיבה מימין לשמאל",
    "Rename Ledger.Web to Ledger",
    "Explain the deadlock in the job runner",
    "Upgrade React 18 → 19",
    "Profile the import of 2 GB",
    "Make CI green again",
    "한국어 번역을 추가해 주세요",
    "Terraform: move state to S3",
]
UUID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
API_ID = re.compile(rb"\b(?:msg|toolu|req)_[A-Za-z0-9]+")
TIME = re.compile(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


class Home:
    """A home that sessions are copied into, each with ids, times, a folder and a branch of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.projects = root / ".claude" / "projects"
        self.chance = random.Random(34)
        self.now = datetime.now(UTC)
        self.numbers = count(1)

    def copy(self, path: Path, *, days: float, cwd: str = "", title: str = "", agents: int = 0) -> Path:
        """Copy a session with its agents so that it ended some days ago."""
        number, end = next(self.numbers), self.now - timedelta(days=days)
        cwd = cwd or self.chance.choices([*PROJECTS], [*PROJECTS.values()])[0]
        branch = self.chance.choice(BRANCHES)
        data = path.read_bytes()
        shift = end - max(map(moment, TIME.findall(data)))

        def moved(data: bytes) -> bytes:
            data = UUID.sub(lambda found: new_uuid(found[0], number), data)
            data = API_ID.sub(lambda found: b"%sx%d" % (found[0], number), data)
            data = TIME.sub(lambda found: f"{moment(found[0]) + shift:%Y-%m-%dT%H:%M:%S.000Z}".encode(), data)
            data = re.sub(rb'"cwd":"[^"]*"', lambda _: b'"cwd":' + json.dumps(cwd).encode(), data)
            return re.sub(rb'"gitBranch":"[^"]*"', lambda _: b'"gitBranch":' + json.dumps(branch).encode(), data)

        id = new_uuid(path.stem.encode(), number).decode()
        if "conversations" in path.parts:
            to = self.root / "reread" / path.relative_to(SAMPLES).with_name(f"{id}.jsonl")
        else:
            to = self.projects / re.sub(r"[^A-Za-z0-9]", "-", cwd) / f"{id}.jsonl"
        data = moved(data)
        if title:
            data += json.dumps({"type": "custom-title", "customTitle": title, "sessionId": id}).encode() + b"\n"
        write(to, data, end)
        own = sorted((path.with_suffix("") / "subagents").glob("*.*"))
        for agent in own:
            write(to.with_suffix("") / "subagents" / agent.name, moved(agent.read_bytes()), end)
        transcripts = [agent for agent in own if agent.suffix == ".jsonl"]
        for copied in range(agents):
            agent, name = transcripts[copied % len(transcripts)], f"a{copied:016x}"
            body = agent.read_bytes().replace(agent.stem.removeprefix("agent-").encode(), name.encode())
            write(to.with_suffix("") / "subagents" / f"agent-{name}.jsonl", moved(body), end)
        return to

    def day(self) -> float:
        """How many days ago: more of late than long ago, and seldom at a weekend."""
        days = min(360.0, self.chance.expovariate(1 / 70)) + 0.01
        weekend = (self.now - timedelta(days=days)).weekday() >= 5
        return self.day() if weekend and self.chance.random() < 0.8 else days


def new_uuid(old: bytes, number: int) -> bytes:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{number} {old.decode()}")).encode()


def moment(time: bytes) -> datetime:
    return datetime.fromisoformat(time.decode().replace("Z", "+00:00"))


def write(path: Path, data: bytes, at: datetime) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (at.timestamp(), at.timestamp()))


def sessions(root: Path, pattern: str, least: int = 3000) -> list[Path]:
    found = (path for path in root.glob(pattern) if not path.name.startswith("agent-"))
    return sorted(path for path in found if path.stat().st_size > least and TIME.search(path.read_bytes()))


def make(root: Path) -> dict[str, str]:
    """Make the home, and return the environment that reads it."""
    home = Home(root)
    samples = sessions(SAMPLES / "projects", "*/*.jsonl")
    real = sessions(REAL, "*/*/projects/*/*.jsonl")
    home.chance.shuffle(real)
    generated(root)
    shutil.copytree(SAMPLES / "projects", home.projects, dirs_exist_ok=True)
    made = len(list(home.projects.glob("*/*.jsonl")))
    for copied in range(SESSIONS - EQUAL - made):
        pool = (samples, real or samples)[copied % 2]
        title = home.chance.choice(TITLES) if copied % 3 == 0 else ""
        home.copy(pool[copied // 2 % len(pool)], days=home.day(), title=title)
    harbor, lantern = list(PROJECTS)[:2]
    for copied in range(EQUAL):
        title = "Summarize the user's intent in one sentence"
        home.copy(samples[0], days=2 * copied + 0.1, cwd=harbor, title=title)
    with_agents = next(path for path in samples if (path.with_suffix("") / "subagents").is_dir())
    home.copy(with_agents, days=0.08, cwd=lantern, title="Forty agents look at it", agents=40)
    for captured in sessions(SAMPLES, "conversations/*/*/*.jsonl", least=0):
        for week in range(5):
            home.copy(captured, days=7 * week + 1)
    keep = [sys.executable, "-m", "reread", "keep"]
    subprocess.run(keep, env={**os.environ, **environment(root)}, check=True, stdout=subprocess.DEVNULL)
    for path in sorted((home.projects / "-tmp-scratch").glob("*.jsonl"))[:3]:
        path.unlink()
    starred = sorted((home.projects / "-home-sam-work-almanac").glob("*.jsonl"))[:3]
    notes = {path.stem: {"starred": True, "note": "The table explains it best."} for path in starred}
    (root / "reread" / "annotations.json").write_text(json.dumps({"version": 1, "sessions": notes}))
    return environment(root)


def environment(root: Path) -> dict[str, str]:
    """The variables with which reread reads a home."""
    names = {"HOME": "", "CLAUDE_CONFIG_DIR": ".claude", "REREAD_HOME": "reread", "REREAD_CACHE": "cache"}
    return {name: str(root / folder) for name, folder in names.items()}


def generated(root: Path) -> None:
    """Sessions of all sizes, and one of three days."""
    with TemporaryDirectory() as made:
        gen.make_tree(Path(made), files=90, mb=30)
        shutil.copytree(Path(made) / "projects", root / ".claude" / "projects", dirs_exist_ok=True)
    author = gen.Author(5)
    path = root / ".claude" / "projects" / "-home-dev-proj1" / f"{author.uuid()}.jsonl"
    with path.open("wb") as file:
        transcript = gen.Transcript(author, file.write, path.stem, "/home/dev/proj1", days=3)
        transcript.run(2e6)
    gen.settle(path, transcript)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder that is made")
    folder = parser.parse_args().folder.absolute()
    folder.mkdir(parents=True)
    print(*(f"{name}={value}" for name, value in make(folder).items()), "reread serve")
