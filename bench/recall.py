"""Decide from the first prompt of a session whether an earlier one did the same, and say nothing unless sure.

The sessions are those of `questions.py`. Some prompts of `recall.txt` ask for work that one of them did, as people
would ask for it anew; the others for ordinary other work. The thresholds of the rule are chosen on every second
prompt; those that are held back decide. A hook starts a new process for each prompt, so that is measured too.
"""

import argparse
import math
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import NamedTuple

import measure
import questions
import search
from measure import Row

_LINES = (Path(__file__).parent / "recall.txt").read_text("utf-8").splitlines()
PROMPTS = [(prompt, session.strip("-")) for session, prompt in (line.split(maxsplit=1) for line in _LINES)]
"""Prompts, each with the beginning of the session's id that did this before; "" if none did."""
OPEN = """
import reread.index.compile
from reread.index.store import open_reader
assert open_reader() is not None
"""
KINDS = (("prompt", "title"), ("prompt", "title", "text"), ("prompt", "title", "text", "input"))
SHARES = [n / 20 for n in range(1, 17)]
ENDING = re.compile("(?<=....)(?:ies|ing|ed|es|s|e|y)$")
Found = list[tuple[str, float, int]]
"""Sessions, the best first: the id, the share of the prompt's weight that stands together, and how many rare words."""


class Evidence(NamedTuple):
    """What is compared: texts of which kinds, endings left out or not, over how many lines, and words how rare."""

    kinds: tuple[str, ...]
    stems: bool
    lines: int
    rare: float


class Limits(NamedTuple):
    """What the best session has to reach: a share, a number of rare words, and so many times the next one's share."""

    share: float
    words: int
    margin: float


class Recall:
    """Looks for sessions in which the rare words of a prompt stand together, in the index as it is."""

    def __init__(self) -> None:
        from reread.disk.file_set import find_files
        from reread.index.compile import IndexScope
        from reread.index.update import refresh

        self._files = find_files(prompts=True)
        reader = refresh(self._files, wait=9).reader
        assert reader is not None
        self._reader, self._scope = reader, IndexScope(reader, self._files, {})

    def ask(self, prompt: str, evidence: Evidence) -> Found:
        from reread.disk.agent_files import session_file
        from reread.index.compile import IndexScope
        from reread.index.query import Kinds, Words, is_question_word
        from reread.index.terms import words

        said = IndexScope(self._reader, self._files, {}, [Kinds(frozenset(evidence.kinds))])
        count = len({session_file(path) for path in self._reader.cursors})
        whole, near = 0.0, defaultdict[str, list[tuple[int, str, float]]](list)
        for word in dict.fromkeys(words(prompt)):
            stem = ENDING.sub("", word) if evidence.stems else word
            leaf = Words((stem,), prefix=stem != word)
            if is_question_word(Words((word,))):
                continue
            having = len(set(map(session_file, self._scope.count_by_file(self._scope.every([leaf])))))
            weight = math.log(1 + (count - having + 0.5) / (having + 0.5))
            whole += weight
            if 0 < having <= max(1.0, evidence.rare * count):
                hits = self._reader.search(said.every([leaf]), 200).hits
                for place in self._reader.places([address for _, address in hits]):
                    near[self._reader.path_of(place.file) or ""].append((place.line, stem, weight))
        best: dict[str, tuple[float, int]] = {}
        for path, places in near.items():
            session = Path(session_file(path)).stem
            for line, _, _ in places:
                here = {stem: weight for at, stem, weight in places if 0 <= at - line <= evidence.lines}
                best[session] = max(best.get(session, (0.0, 0)), (sum(here.values()) / whole, len(here)))
        return sorted(((id, *found) for id, found in best.items()), key=lambda one: (-one[1], one[0]))


def speaks(found: Found, limits: Limits) -> bool:
    """True if the best session is good enough to be told of."""
    after = found[1][1] if len(found) > 1 else 0.0
    return bool(found) and found[0][1] >= max(limits.share, limits.margin * after) and found[0][2] >= limits.words


def counted(asked: Sequence[tuple[str, list[str]]]) -> tuple[int, int, int]:
    """Return how often a foreign prompt got something, how often an own one did, and how often that was right."""
    foreign = sum(bool(found) for meant, found in asked if not meant)
    own = [any(id.startswith(meant) for id in found[:3]) for meant, found in asked if meant and found]
    return foreign, len(own), sum(own)


def told(answers: Sequence[tuple[str, Found]], limits: Limits) -> list[tuple[str, list[str]]]:
    """Return the sessions that each prompt would be told of."""
    return [(meant, [id for id, *_ in found] if speaks(found, limits) else []) for meant, found in answers]


def tuned(recall: Recall) -> tuple[Evidence, Limits]:
    """Choose on the first half: at most one foreign prompt in ten gets something, most own ones the right session."""
    best: tuple[tuple[float, ...], Evidence, Limits] | None = None
    for evidence in map(Evidence._make, product(KINDS, (False, True), (0, 12), (0.02, 0.1))):
        answers = [(meant, recall.ask(prompt, evidence)) for prompt, meant in PROMPTS[::2]]
        for limits in map(Limits._make, product(SHARES, (1, 2, 3, 4), (1.0, 1.25, 1.5, 2.0))):
            foreign, own, right = counted(told(answers, limits))
            if foreign * 10 <= sum(not meant for _, meant in PROMPTS[::2]) and right >= 0.6 * own:
                merit = (right, -foreign, right - own, *limits)
                best = max(best or (merit, evidence, limits), (merit, evidence, limits))
    assert best is not None
    return best[1:]


def _text(asked: Sequence[tuple[str, list[str]]]) -> str:
    foreign, own, right = counted(asked)
    foreigners = sum(not meant for meant, _ in asked)
    hit = f"{right / own:.2f}" if own else "unknown"
    return f"{foreign} of {foreigners} foreign, {own} of {len(asked) - foreigners} own, hit@3 there {hit}"


def prompts(plan: measure.Plan) -> Iterator[Row]:
    """Ask with the prompts that were held back: the search as it is, and the rule."""
    ask = questions.ours(questions.corpus(plan))
    held = PROMPTS[1::2]
    yield Row("search as it is: gets something", _text([(meant, ask(prompt)) for prompt, meant in held]))
    recall = Recall()
    evidence, limits = tuned(recall)
    print(evidence, limits, file=sys.stderr)
    chosen = [(meant, recall.ask(prompt, evidence)) for prompt, meant in PROMPTS[::2]]
    yield Row("rule, on the prompts that it was tuned on", _text(told(chosen, limits)))
    start, answers = time.process_time(), [(meant, recall.ask(prompt, evidence)) for prompt, meant in held]
    cpu = f"{1000 * (time.process_time() - start) / len(held):.0f} ms CPU"
    goal = "≤ 0.1 of the foreign ones, hit@3 ≥ 0.6"
    yield Row("rule, on the prompts that were held back", _text(told(answers, limits)), goal=goal)
    yield Row("rule, in a process that has the index open", cpu)


def processes(plan: measure.Plan) -> Iterator[Row]:
    """Start what a hook would have to start for each prompt, from the least to the whole search."""
    ask = questions.ours(questions.corpus(plan))
    ask("index what is there")
    yield _process("open the index as it was left", [[sys.executable, "-c", OPEN]] * 20)
    yield _process("find the files, open the index brought up to date", [[sys.executable, "-c", search.BUILD]] * 20)
    commands = [[*search.OURS, "-n", "3", "--json", "--", prompt] for prompt, _ in PROMPTS[1::2]]
    yield _process("`reread search` of a prompt", commands)


def _process(work: str, commands: Sequence[Sequence[str]]) -> Row:
    runs = [measure.run(command, accepted=(0, 1)) for command in commands]
    cpu, wall = sorted(1000 * run.cpu for run in runs), sorted(1000 * run.wall for run in runs)
    measured = f"{median(cpu):.0f} ms CPU (least {cpu[0]:.0f}), {median(wall):.0f} ms wall (least {wall[0]:.0f})"
    return Row(f"a new process: {work}", measured, goal="≤ 150 ms CPU, ≤ 400 ms wall")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="60 generated sessions instead of 600")
    measure.report_chosen({"prompts": prompts, "processes": processes}, parser, measure.Plan())


if __name__ == "__main__":
    main()
