"""Review commits that sessions of the real client made: each added line must be on the turn that wrote it.

Sessions write and edit files and commit them, several commits in a turn and several sessions in a file; between their
turns a person edits, commits, renames and runs a formatter; at the end commits are squashed and rebased. Each line
says who wrote it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

import reread

sys.path.insert(0, str(Path(__file__).parent))

from box import in_box, install, reason_not_to
from scenarios import END, turn, use

WORDS = ["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
COMMIT = "git add -A && git -c user.name=a -c user.email=a@example.org commit -m '{}'"
ANCHOR = "# new lines come below"
OWNER = re.compile(r"(?:s(\d+)_t(\d+)|hand)_\d+")
SESSIONS, RUNS = 4, 3
"""How many sessions take turns, and how many turns are between two changes by hand."""


class Work:
    """A repository in which sessions and a person work."""

    def __init__(self, folder: Path, client: Path) -> None:
        self.folder, self.client = folder, client
        self.project, self.config = folder / "proj", folder / "home" / ".claude"
        (self.project / "src").mkdir(parents=True)
        self.ids = [str(uuid.uuid4()) for _ in range(SESSIONS)]
        self.turns = [0] * SESSIONS
        self.serial = 0
        self.git("init", "-q", "-b", "main")
        for number in range(3):
            (self.project / f"src/shared{number}.py").write_text(f"{ANCHOR}\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "Begin")
        self.first = self.git("rev-parse", "HEAD")

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *IDENTITY, *words], cwd=self.project, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commits(self) -> int:
        return int(self.git("rev-list", "--count", f"{self.first}..HEAD"))

    def lines(self, name: str, count: int) -> list[str]:
        self.serial += count
        return [f"{name}_{self.serial + number} = call({number}, 'x')" for number in range(count)]

    def play(self) -> None:
        """Have sessions take some turns."""
        scripts: dict[str, Any] = {}
        runs: list[dict[str, Any]] = []
        for _ in range(RUNS):
            session = self.serial % SESSIONS
            self.turns[session] += 1
            name = f"s{session}_t{self.turns[session]}"
            shared = f"{self.project}/src/shared{self.serial % 3}.py"
            made = "".join(f"{line}\n" for line in self.lines(name, 5))
            added = "\n".join([ANCHOR, *self.lines(name, 3)])
            more = "\n".join([ANCHOR, *self.lines(name, 2)])
            scripts[name] = [
                turn(use("Write", file_path=f"{self.project}/src/{name}.py", content=made)),
                turn(use("Bash", command=COMMIT.format(f"Write {name}"))),
                turn(use("Read", file_path=shared)),
                turn(use("Edit", file_path=shared, old_string=ANCHOR, new_string=added, replace_all=False)),
                turn(use("Bash", command=COMMIT.format(f"Edit {name}"))),
                turn(use("Edit", file_path=shared, old_string=ANCHOR, new_string=more, replace_all=False)),
                turn(use("Bash", command=COMMIT.format(f"Edit again {name}"))),
                END,
            ]
            which = ["--resume", self.ids[session]] if self.turns[session] > 1 else ["--session-id", self.ids[session]]
            runs.append({"words": ["-p", f"Do it. [[SCN:{name}]]", *which, *WORDS], "timeout": 120})
        for run, done in zip(runs, in_box(self.client, self.folder, runs, scripts=scripts), strict=True):
            if done["code"] != 0:
                print(f"{run['words'][1]}: exit code {done['code']} {done['err'][-200:]}")

    def by_hand(self, number: int) -> None:
        """Change what a person and a formatter would, and sometimes commit it."""
        shared = self.project / f"src/shared{number % 3}.py"
        shared.write_text("".join(f"{line}\n" for line in self.lines("hand", 2)) + shared.read_text())
        files = sorted((self.project / "src").glob("s*_t*.py"))
        if number % 3 == 1:
            text = files[-1].read_text()
            files[-1].write_text(re.sub(r"call\((\d+), 'x'\)", r'call(\n    \1,\n    "x",\n)', text))
        if number % 4 == 2:
            files[0].rename(files[0].with_name(f"moved{number}.py"))
        if number % 2:
            self.git("add", "-A")
            self.git("commit", "-qm", f"By hand {number}")

    def rewrite(self) -> None:
        """Squash the last commits, and put all onto another beginning."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "All")
        self.git("reset", "-q", "--soft", "HEAD~3")
        self.git("commit", "-qm", "Squashed")
        self.git("checkout", "-q", "-b", "other", self.first)
        (self.project / "other.txt").write_text("hand_0 = 0\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "Another beginning")
        self.git("checkout", "-q", "main")
        self.git("rebase", "-q", "other")


def main() -> int:
    """Work, review, compare; return 1 if a wrong line is called certain, or less than 95 % are right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", nargs="?", default="latest")
    parser.add_argument("--commits", type=int, default=200)
    options = parser.parse_args()
    if reason := reason_not_to():
        print(reason)
        return 2
    client = install(options.version, Path(tempfile.gettempdir()) / f"reread-claude-{options.version}")
    work = Work(Path(tempfile.mkdtemp(prefix="reread-review-")), client)
    number = 0
    while work.commits() < options.commits:
        work.play()
        work.by_hand(number)
        number += 1
    work.rewrite()
    review = reread.review(f"{work.first}..HEAD", repository=work.project, root=work.config, redact=False)
    lines = right = wrong = guessed = hand = hand_right = 0
    for commit in review.commits:
        for file in (file for file in commit.files if file.path.startswith("src/")):
            text = work.git("show", f"{commit.sha}:{file.path}").split("\n")
            owner: tuple[str, int] | None = None
            for number, line in enumerate(text, 1):
                found = OWNER.search(line)
                if found is not None:  # else it is a broken part of the line before
                    owner = (work.ids[int(found[1])], int(found[2])) if found[1] else None
                part = next((one for one in file.lines if one.first <= number <= one.last), None)
                if part is None or line == ANCHOR:
                    continue
                said = (part.session, part.turn) if part.session is not None else None
                lines += 1
                right += said == owner
                guessed += part.guess
                wrong += said is not None and said != owner and not part.guess
                hand += owner is None
                hand_right += owner is None and said is None
    print(f"{len(review.commits)} commits, {lines} lines: {right} on the right turn ({right / lines:.1%}),")
    print(f"{guessed} guessed, ", end="")
    print(f"{wrong} wrong and not marked, {hand_right} of {hand} by hand said to be by hand")
    return int(wrong > 0 or right / lines < 0.95)


if __name__ == "__main__":
    sys.exit(main())
