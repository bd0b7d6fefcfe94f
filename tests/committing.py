"""A repository whose commits sessions and a person made together, with the turn that wrote each line of each commit."""

import json
import os
import random
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from reread.attribution.review_values import Review

START = 1_790_000_000
REPEATED = ("", "}", "    return None", "    pass")
"""Lines that stand in many places, so that only their place tells whose they are."""


class Line(NamedTuple):
    """A line and who wrote it: the number of a session and a turn, or nobody's session."""

    text: str
    owner: tuple[int, int] | None


Lines = list[Line]


class Score(NamedTuple):
    """How many lines a review gives to the right turn."""

    lines: int
    right: int
    """Lines of sessions on the right turn, and lines by hand said to be by hand."""
    wrong: int
    """Lines on a wrong turn that are not marked as a guess, and lines of sessions said to be by hand that are not."""
    guessed: int
    hand: int
    hand_right: int
    missed: int
    """Lines of sessions that are said to be by nobody."""


class Rig:
    """A home with sessions, and a repository in which they and a person work."""

    def __init__(self, folder: Path, seed: int = 1) -> None:
        self.chance = random.Random(seed)
        self.claude, self.repository = folder / "claude", folder / "shop"
        self.projects = self.claude / "projects" / "-shop"
        self.projects.mkdir(parents=True)
        self.repository.mkdir(parents=True)
        self.time = START
        self.files: dict[str, Lines] = {}
        self.truth: dict[str, dict[str, Lines]] = {}
        self.records: list[list[dict[str, Any]]] = []
        self.turns: list[int] = []
        self.serial = 0
        self.git("init", "-q", "-b", "main")
        self.hand("README.md", 0, 0, ["# Shop"])
        self.first = self.commit(None, "Begin")

    # The person

    def git(self, *words: str, **env: str) -> str:
        base = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        who = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = {f"GIT_{role}_DATE": f"{self.time} +0000" for role in ("AUTHOR", "COMMITTER")}
        done = subprocess.run(
            ["git", *words],
            cwd=self.repository,
            env=base | who | dates | {"GIT_CONFIG_NOSYSTEM": "1", "HOME": str(self.repository.parent)} | env,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    def hand(self, path: str, at: int, removed: int, new: Sequence[str]) -> None:
        """Edit a file by hand."""
        self._change(path, at, removed, [Line(text, None) for text in new])

    def commit(self, session: int | None, subject: str, *, paths: Sequence[str] = (), amend: bool = False) -> str:
        """Commit everything, or some files; through a command of a session if one is given."""
        self.tick()
        self.git("add", "-A", *(["--", *paths] if paths else []))
        self.git("commit", "-q", "--allow-empty", "-m", subject, *(["--amend"] if amend else []))
        sha = self.git("rev-parse", "HEAD")
        self.truth[sha] = {path: list(lines) for path, lines in self.files.items()}
        if session is not None:
            self.tick()
            output = f"[main {sha[:7]}] {subject}\n 1 file changed"
            self.call(session, "Bash", {"command": f"git commit -m '{subject}'"}, {"stdout": output, "stderr": ""})
        return sha

    def reformat(self, path: str) -> None:
        """Run a formatter that sets blanks around `=` and breaks calls; who wrote a line stays."""
        out: Lines = []
        for text, owner in self.files[path]:
            if "=call(" in text:
                name, _, rest = text.partition("=call(")
                out += [Line(f"{name} = call(", owner), Line(f"    {rest.removesuffix(')')},", owner), Line(")", owner)]
            else:
                out.append(Line(text.replace("=", " = ") if "=" in text and " = " not in text else text, owner))
        self.files[path] = out
        self.save(path)

    def rename(self, session: int | None, old: str, new: str) -> None:
        self.files[new] = self.files.pop(old)
        (self.repository / new).parent.mkdir(parents=True, exist_ok=True)
        (self.repository / old).rename(self.repository / new)
        if session is not None:
            self.tick()
            self.call(session, "Bash", {"command": f"git mv {old} {new}"}, {"stdout": "", "stderr": ""})

    def rebase(self, count: int, path: str) -> None:
        """Put the last commits onto a new one that adds lines by hand at the top of a file."""
        old = self.git("rev-list", "--reverse", f"HEAD~{count}..HEAD").split()
        self.git("checkout", "-q", "-b", "other", f"HEAD~{count}")
        new = [Line(self.text("hand"), None) for _ in range(2)]
        base = self.truth[self.git("rev-parse", "HEAD")]
        self.tick()
        whole = [*new, *base[path]]
        (self.repository / path).write_text("".join(f"{line.text}\n" for line in whole))
        self.git("commit", "-qam", "Add by hand")
        self.truth[self.git("rev-parse", "HEAD")] = {**base, path: whole}
        self.tick(3600)
        self.git("checkout", "-q", "main")
        self.git("rebase", "-q", "other", GIT_AUTHOR_DATE="")
        for before, after in zip(old, self.git("rev-list", "--reverse", "other..HEAD").split(), strict=True):
            moved = next(n for n in (path,) if n in self.truth[before])
            self.truth[after] = {**self.truth[before], moved: [*new, *self.truth[before][moved]]}
        self.git("branch", "-D", "other")
        self.files[path] = [*new, *self.files[path]]

    def squash(self, count: int) -> None:
        """Make one commit of the last ones."""
        state = self.truth[self.git("rev-parse", "HEAD")]
        self.tick(60)
        self.git("reset", "-q", "--soft", f"HEAD~{count}")
        self.git("commit", "-qm", f"Squash {count} commits {self.serial}")
        self.truth[self.git("rev-parse", "HEAD")] = state

    # Sessions

    def session(self) -> int:
        self.records.append([])
        self.turns.append(0)
        return len(self.records) - 1

    def prompt(self, session: int, text: str) -> None:
        self.tick()
        self.turns[session] += 1
        self._record(session, {"type": "user", "message": {"role": "user", "content": text}})

    def write(self, session: int, path: str, at: int, removed: int, new: Sequence[str]) -> None:
        """Change a file with Write or Edit, as the client records it."""
        self.tick()
        owner = (session, self.turns[session])
        before = self.content(path)
        old = self.files.get(path, [])[at : at + removed]
        if before is None or self.chance.random() < 0.2:
            self._change(path, at, removed, [Line(text, owner) for text in new])
            after = self.content(path)
            data = {"type": "update" if before is not None else "create", "content": after, "originalFile": before}
            given: dict[str, Any] = {"content": after}
            if before is not None:  # the whole file is written again: lines that stay are whose they were
                data["type"] = "update"
            name = "Write"
        else:
            kept = self.files[path]
            head = "".join(f"{line.text}\n" for line in kept[max(0, at - 2) : at])
            old_text = head + "".join(f"{line.text}\n" for line in old)
            tail = "".join(f"{line.text}\n" for line in kept[at + removed : at + removed + 2])
            new_text = head + "".join(f"{text}\n" for text in new)
            if before.count(old_text + tail) != 1:
                old_text, new_text, tail = before, "", ""
                new_text = "".join(
                    f"{text}\n"
                    for text in [
                        *(line.text for line in kept[:at]),
                        *new,
                        *(line.text for line in kept[at + removed :]),
                    ]
                )
            self._change(path, at, removed, [Line(text, owner) for text in new])
            given = {"old_string": old_text + tail, "new_string": new_text + tail, "replace_all": False}
            data = {"oldString": old_text + tail, "newString": new_text + tail, "originalFile": before}
            name = "Edit"
        where = str(self.repository / path)
        data |= {"filePath": where, "structuredPatch": [], "userModified": False}
        self.call(session, name, {"file_path": where, **given}, data)

    def heredoc(self, session: int, path: str, new: Sequence[str]) -> None:
        """Write a file through a command."""
        self.tick()
        text = "".join(f"{line}\n" for line in new)
        self.files[path] = [Line(line, (session, self.turns[session])) for line in new]
        self.save(path)
        command = f"cat > {path} <<'EOF'\n{text}EOF"
        self.call(session, "Bash", {"command": command}, {"stdout": "", "stderr": ""})

    def call(self, session: int, name: str, given: dict[str, Any], data: Any, *, failed: bool = False) -> None:
        self.serial += 1
        id = f"toolu_{self.serial:06}"
        use = {"type": "tool_use", "id": id, "name": name, "input": given}
        message = {"role": "assistant", "id": f"msg_{self.serial:06}", "model": "claude-opus-4-5-20251101"}
        usage = {"input_tokens": 10, "output_tokens": 20}
        self._record(session, {"type": "assistant", "message": {**message, "usage": usage, "content": [use]}})
        done = {"type": "tool_result", "tool_use_id": id, "content": "done", "is_error": failed}
        answer = {"type": "user", "message": {"role": "user", "content": [done]}, "toolUseResult": data}
        self._record(session, answer)

    def finish(self) -> None:
        """Write the sessions."""
        for number, records in enumerate(self.records):
            text = "".join(json.dumps(record) + "\n" for record in records)
            (self.projects / f"{self.id(number)}.jsonl").write_text(text)

    def id(self, session: int) -> str:
        return f"{session:08}-5e55-4000-8000-000000000000"

    # The parts of both

    def tick(self, seconds: int | None = None) -> None:
        self.time += seconds if seconds is not None else self.chance.randint(2, 40)

    def text(self, word: str) -> str:
        self.serial += 1
        if self.chance.random() < 0.15:
            return self.chance.choice(REPEATED)
        shape = self.chance.choice(
            ("{0}_{1}={1}", "def {0}_{1}(a, b):", "    {0}_{1}=call(first_{1}, 'second')", "# {0} {1}")
        )
        return shape.format(word, self.serial)

    def content(self, path: str) -> str | None:
        lines = self.files.get(path)
        return "".join(f"{line.text}\n" for line in lines) if lines is not None else None

    def save(self, path: str) -> None:
        file = self.repository / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.content(path) or "")

    def _change(self, path: str, at: int, removed: int, new: Lines) -> None:
        lines = self.files.setdefault(path, [])
        lines[at : at + removed] = new
        self.save(path)

    def _record(self, session: int, record: dict[str, Any]) -> None:
        records = self.records[session]
        stamp = datetime.fromtimestamp(self.time, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + "500Z"
        own = {"uuid": f"{session}-{len(records)}", "parentUuid": records[-1]["uuid"] if records else None}
        place = {"sessionId": self.id(session), "cwd": str(self.repository), "version": "2.1.300", "gitBranch": "main"}
        records.append({**own, **place, "timestamp": stamp, **record})

    def expected(self, sha: str, path: str, number: int) -> tuple[str, int] | None:
        owner = self.truth[sha][path][number - 1].owner
        return (self.id(owner[0]), owner[1]) if owner is not None else None

    def score(self, review: Review) -> Score:
        counts = dict.fromkeys(Score._fields, 0)
        for commit in review.commits:
            for file in commit.files:
                for lines in file.lines:
                    for number in range(lines.first, lines.last + 1):
                        wanted = self.expected(commit.sha, file.path, number)
                        found = (lines.session, lines.turn) if lines.session is not None else None
                        counts["lines"] += 1
                        counts["right"] += found == wanted
                        counts["guessed"] += lines.guess
                        counts["wrong"] += found is not None and found != wanted and not lines.guess
                        counts["missed"] += found is None and wanted is not None
                        counts["hand"] += wanted is None
                        counts["hand_right"] += wanted is None and found is None
        return Score(**counts)


def work(rig: Rig, commits: int) -> None:
    """Have three sessions and a person make commits, in all the ways that make it hard to tell who wrote what."""
    chance = rig.chance
    sessions = [rig.session() for _ in range(3)]
    for session in sessions:
        rig.prompt(session, f"Begin session {session}")
        rig.write(session, f"src/part{session}.py", 0, 0, [rig.text("start") for _ in range(8)])
    plain = 0
    while len(rig.git("rev-list", f"{rig.first}..HEAD").split()) < commits:
        if chance.random() < 0.08 and len(rig.records) < 40:
            sessions[chance.randrange(3)] = rig.session()
            rig.prompt(len(rig.records) - 1, "Go on")
        for _ in range(chance.randint(1, 4)):
            session, path = chance.choice(sessions), chance.choice([p for p in rig.files if p.startswith("src/")])
            count = len(rig.files[path])
            at = chance.randint(0, count)
            removed = min(chance.choice((0, 0, 1, 2)), count - at)
            if chance.random() < 0.4 or not rig.turns[session]:
                rig.prompt(session, f"Please change {path}: {rig.serial}")
            kind = chance.random()
            new = [rig.text(f"s{session}") for _ in range(chance.randint(1, 6))]
            if kind < 0.62:
                rig.write(session, path, at, removed, new)
            elif kind < 0.8:
                rig.tick()
                rig.hand(path, at, min(removed, 1), [rig.text("hand") for _ in range(chance.randint(1, 3))])
            elif kind < 0.86:
                rig.write(session, f"src/new{rig.serial}.py", 0, 0, new)
            elif kind < 0.9:
                rig.rename(session if kind < 0.88 else None, path, f"src/moved{rig.serial}.py")
            elif kind < 0.94:
                rig.heredoc(session, f"src/here{rig.serial}.py", [f"here_{rig.serial}_{n} = {n}" for n in range(4)])
            else:
                rig.reformat(path)
        rig.commit(chance.choice(sessions) if chance.random() < 0.6 else None, f"Change {rig.serial}")
        plain += 1
        kind = chance.random()
        if plain > 4 and kind < 0.06:
            rig.squash(3)
            plain = 0
        elif plain > 4 and kind < 0.12:
            shas = rig.git("rev-list", "HEAD~3..HEAD").split()
            common = set.intersection(*(set(rig.truth[sha]) for sha in (*shas, rig.git("rev-parse", "HEAD~3"))))
            safe = [
                p
                for p in common
                if p.startswith("src/") and not rig.git("diff", "--name-only", "HEAD~3", "HEAD", "--", p)
            ]
            if safe:
                rig.rebase(3, chance.choice(sorted(safe)))
                plain = 0
    rig.finish()
