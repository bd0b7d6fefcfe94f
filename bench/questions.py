"""Ask questions as people remember things, and see where the session comes that they mean.

The sessions are the samples, without their titles, among generated ones and, with REREAD_REAL_CLIENT, real ones. Each
question names the session that it is about. A session's own title is one; others have wrong words among the remembered
ones, typos, other words for the same thing, or code with its punctuation. Sessions in other scripts and with emoji are
written for it, several of each, so that a script alone does not give one away.

The questions of `asked.toml` are about small sessions of their own, among long ones that have most of the words of all.
"""

import argparse
import atexit
import json
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import measure
import regress
import search
from measure import Row

from reread.base.paths import SAMPLES

DATA = measure.data()
TITLES = ("ai-title", "custom-title", "summary")
TALKS = {
    "0c100001": ("数据库连接池在高峰时耗尽，怎么办？", "把连接池上限调到五十，并让空闲连接在三十秒后关闭。"),
    "0c100002": ("登录页面的验证码图片不显示", "缓存头写错了：验证码的响应不能缓存。"),
    "0c100003": ("订单导出成表格时中文变成乱码", "文件开头要写字节顺序标记，编码用统一码。"),
    "0c200001": ("バックアップの復元に失敗する", "復元の前に古い索引を削除する必要があります。"),
    "0c200002": ("夜間バッチの処理時間が長い", "索引を追加して、集計を並列にしました。"),
    "0c300001": ("Почему падает загрузка больших файлов?", "Прокси обрывает запрос: увеличил предел размера тела."),
    "0c300002": (
        "Отчёт о продажах считает возвраты дважды",
        "Убрал лишнее соединение таблиц, теперь возвраты учтены раз.",
    ),
    "0c400001": ("لماذا تفشل مزامنة الملفات عند انقطاع الشبكة؟", "أضفت إعادة المحاولة مع مهلة متزايدة."),
    "0c400002": ("ترتيب المنتجات حسب السعر غير صحيح", "كان السعر نصا، فحولته إلى رقم قبل الفرز."),
    "0c500001": ("Put 🚀 in front of the release notes", "Each release begins with 🚀 now."),
    "0c500002": ("The status column shows 🔥 for every build", "Only failed builds get 🔥; the others get 🌱."),
}
"""Sessions in other scripts and with emoji: a prompt and an answer by the beginning of the id."""
ASKED = tomllib.loads(Path(__file__).with_name("asked.toml").read_text("utf-8"))
SESSIONS: dict[str, list[str]] = ASKED.pop("sessions")
"""The day, prompt, answer, command and result of each small session."""
LONG = 14
"""How many long sessions say a bit of everything."""
KINDS = ("title", "remembered", "paraphrase", "typo", "code", "scripts", *ASKED)
QUESTIONS: dict[str, list[tuple[str, str]]] = {
    "title": [
        ("monthly.ipynb draws eleven bars. Where did December go?", "6a0f8d43"),
        ("Skip missing readings in the rain report", "f27b5c90"),
        ("Fix the flaky ceiling test", "8c1f0b52"),
        ("Add a dead-letter queue", "d2a94e17"),
        ("Why is the bundle 1.2 MB?", "4e7d31aa"),
        ("Make the time axis readable", "b90c6f28"),
        ("A panel for retries", "c3e81f6d"),
        ("Missing December in the monthly chart", "6a0f8d43"),
        ("Randomness in backoff breaks the limit test", "8c1f0b52"),
        ("Bundle size caused by syntax highlighting languages", "4e7d31aa"),
        ("Labels of a chart overlap over several days", "b90c6f28"),
        ("Failed webhook events listed and put back", "d2a94e17"),
    ],
    "remembered": [
        ("where did the december bar go", "6a0f8d43"),
        ("notebook filter december drier mm", "6a0f8d43"),
        ("gauge dash reading crash report skipped", "f27b5c90"),
        ("frost downpour float alerts", "f27b5c90"),
        ("the jitter after the clamp, herd of retries", "8c1f0b52"),
        ("flaky CI test waits longer backoff seeds", "8c1f0b52"),
        ("what did we do about events that die unseen", "d2a94e17"),
        ("billing endpoint 503 dead letters migration", "d2a94e17"),
        ("prefix match underscore wildcard reviewer", "d2a94e17"),
        ("highlight.js all grammars bundle json viewer", "4e7d31aa"),
        ("which import made index.js so large", "4e7d31aa"),
        ("ladder of steps for axis labels utc midnight", "b90c6f28"),
        ("getHours local time buckets", "b90c6f28"),
        ("staging keys panel longest wait minutes seconds", "c3e81f6d"),
        ("three agents looked at harbor and panels in parallel", "c3e81f6d"),
    ],
    "paraphrase": [
        ("the chart lost its last month of the year", "6a0f8d43"),
        ("script stopped at an empty rain value", "f27b5c90"),
        ("unstable unit test because of random waiting time", "8c1f0b52"),
        ("place for webhooks that could not be delivered", "d2a94e17"),
        ("javascript download too big, shrink it", "4e7d31aa"),
        ("tick marks on the graph were unreadable", "b90c6f28"),
        ("dashboard widget of pending attempts", "c3e81f6d"),
        ("requeue everything that gave up for one customer endpoint", "d2a94e17"),
    ],
    "typo": [
        ("jiter", "8c1f0b52"),
        ("decmeber bars", "6a0f8d43"),
        ("hihglight grammars", "4e7d31aa"),
        ("dead lettre queue endpoints", "d2a94e17"),
        ("unreadble axis", "b90c6f28"),
        ("downpuor frost", "f27b5c90"),
        ("backof ceilling", "8c1f0b52"),
        ("migraton dead letters", "d2a94e17"),
        ("retires panel stagging", "c3e81f6d"),
        ("guage reading skiped", "f27b5c90"),
    ],
    "code": [
        ('"harbor dead retry --all"', "d2a94e17"),
        ('"self.base * self.factor ** (attempt - 1)"', "8c1f0b52"),
        ('import hljs from "highlight.js"', "4e7d31aa"),
        ("axis.ts getHours()", "b90c6f28"),
        ("test_never_waits_longer_than_the_ceiling", "8c1f0b52"),
        ('"2025-12-01"', "6a0f8d43"),
        ("almanac/alerts.py:5", "f27b5c90"),
        ("src/panels/retries.ts", "c3e81f6d"),
        ("backoff.delay(tried)", "d2a94e17"),
        ("highlight.js/lib/core", "4e7d31aa"),
    ],
    "scripts": [
        ("连接池", "0c100001"),
        ("验证码不显示", "0c100002"),
        ("乱码 导出", "0c100003"),
        ("バックアップ 復元", "0c200001"),
        ("夜間バッチ 遅い", "0c200002"),
        ("загрузка больших файлов", "0c300001"),
        ("отчет возвраты", "0c300002"),
        ("загрузка болших файлов прокси", "0c300001"),
        ("مزامنة الملفات", "0c400001"),
        ("السعر رقم", "0c400002"),
        ("🚀", "0c500001"),
        ("builds 🔥", "0c500002"),
    ],
} | {name: list(questions.items()) for name, questions in ASKED.items()}
Ask = Callable[[str], list[str]]


def corpus(plan: measure.Plan) -> Path:
    """Make the sessions: samples without titles, generated ones, and real ones if they are there."""
    root = DATA.root / "questions"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(DATA.tree(60 if plan.quick else 600) / "projects", root / "projects")
    for path in SAMPLES.glob("projects/*/**/*.jsonl"):
        new = root / path.relative_to(SAMPLES)
        new.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_bytes().splitlines(keepends=True)
        new.write_bytes(b"".join(line for line in lines if _type(line) not in TITLES))
    for id, texts in TALKS.items():
        new = root / "projects" / "-home-sam-talks" / f"{id}-0000-4000-8000-000000000000.jsonl"
        new.parent.mkdir(exist_ok=True)
        new.write_text("".join(_line(new.stem, n, text) for n, text in enumerate(texts)), encoding="utf-8")
    real = Path(os.environ.get("REREAD_REAL_CLIENT", "/nonexistent"))
    for number, path in enumerate(sorted(real.glob("data/*/*/projects/*/*.jsonl"))):
        new = root / "projects" / f"-real-{number}" / path.name
        new.parent.mkdir(parents=True)
        new.write_bytes(path.read_bytes())
    return root


def add_asked(root: Path) -> None:
    """Add the sessions that are asked for, and long ones with words of all of them."""
    folder = root / "projects" / "-home-sam-asked"
    folder.mkdir()
    for id, (day, prompt, answer, command, result) in SESSIONS.items():
        use = {"type": "tool_use", "id": f"toolu_{id}", "name": "Bash", "input": {"command": command}}
        done = {"type": "tool_result", "tool_use_id": use["id"], "content": result}
        new = folder / f"{id}00000-0000-4000-8000-000000000000.jsonl"
        told = (prompt, [use], [done], answer)
        new.write_text("".join(_line(new.stem, n, text, day) for n, text in enumerate(told)), encoding="utf-8")
    chance = random.Random(48)
    words = " ".join(text for _, *texts in SESSIONS.values() for text in texts).split()
    for number in range(LONG):
        new = folder / f"f{number:07}-0000-4000-8000-000000000000.jsonl"
        texts = (" ".join(chance.choices(words, k=40 if n % 2 else 8)) for n in range(160))
        new.write_text("".join(_line(new.stem, n, text) for n, text in enumerate(texts)), encoding="utf-8")


def _line(id: str, number: int, content: str | list[dict[str, object]], day: str = "2026-10-05") -> str:
    """Return a prompt, or the answer after it, as the client writes it."""
    role = ("user", "assistant")[number % 2]
    text = [{"type": "text", "text": content}] if isinstance(content, str) and role == "assistant" else content
    told: dict[str, object] = {"role": role, "content": text}
    if role == "assistant":
        told |= {"id": f"msg_{id[:8]}_{number}", "type": "message", "model": "claude-opus-4-5-20251101"}
    common = {
        "sessionId": id,
        "cwd": "/home/sam/talks",
        "version": "2.1.9",
        "timestamp": f"{day}T10:{number // 60:02}:{number % 60:02}.000Z",
    }
    uuids = {"uuid": f"{id[:8]}-{number}", "parentUuid": f"{id[:8]}-{number - 1}" if number else None}
    return json.dumps({"type": role, "message": told, **uuids, **common}, ensure_ascii=False) + "\n"


def _type(line: bytes) -> str:
    try:
        value = json.loads(line)
    except ValueError:
        return ""
    return value.get("type", "") if isinstance(value, dict) else ""


def ours(root: Path) -> Ask:
    """Ask reread."""
    os.environ |= {"CLAUDE_CONFIG_DIR": str(root), "REREAD_CACHE": str(DATA.root / "questions-cache")}
    import reread

    def ask(question: str) -> list[str]:
        hits = reread.search(question, root=root, limit=100)
        return list(dict.fromkeys(hit.session for hit in hits))

    return ask


def released(root: Path) -> Ask:
    """Ask the last release of reread, as it was."""
    source = str(regress.source_of(regress.RELEASES[0]))
    folders = {"PYTHONPATH": source, "REREAD_CACHE": str(DATA.root / "questions-cache-release")}

    def ask(question: str) -> list[str]:
        words = [sys.executable, "-m", "reread", "search", "--root", str(root), "-n", "100", "--json", "--", question]
        done = subprocess.run(words, capture_output=True, check=False, env={**os.environ, **folders})
        try:
            found = json.loads(done.stdout)
        except ValueError:
            return []
        return list(dict.fromkeys(hit["session"] for hit in found["hits"]))

    return ask


def agentsview(root: Path) -> Ask:
    """Ask agentsview's full text search."""
    data = DATA.root / "questions-agentsview"
    shutil.rmtree(data, ignore_errors=True)
    search.set_up_peer(root, data)
    program = str(search.agentsview())
    subprocess.run([program, "sync"], check=True, capture_output=True)
    del os.environ["AGENTSVIEW_NO_DAEMON"]  # its search asks a server
    subprocess.run([program, "daemon", "start"], check=True, capture_output=True)
    atexit.register(subprocess.run, [program, "daemon", "stop"], check=False, capture_output=True)

    def ask(question: str) -> list[str]:
        options = [
            "--fts",
            "--json",
            "--limit",
            "100",
            "--include-children",
            "--include-one-shot",
            "--include-automated",
        ]
        done = subprocess.run([program, "session", "search", question, *options], capture_output=True, check=False)
        try:
            found = json.loads(done.stdout)
        except ValueError:
            return []
        return list(dict.fromkeys(_ids(found)))

    return ask


def _ids(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("session_id"), str):
            yield value["session_id"].rpartition(":")[2]
        for inner in value.values():
            yield from _ids(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _ids(inner)


def score(ask: Ask, kind: str) -> tuple[float, float, float]:
    """Return the mean reciprocal rank, the share within the first ten, and the share of empty answers."""
    ranks: list[int] = []
    empty = 0
    for question, session in QUESTIONS[kind]:
        found = ask(question)
        empty += not found
        ranks.append(next((n for n, id in enumerate(found, 1) if id.startswith(session)), 0))
    count = len(ranks)
    return sum(1 / rank for rank in ranks if rank) / count, sum(0 < rank <= 10 for rank in ranks) / count, empty / count


GOALS = {"title": "hit@10 ≥ 0.75", "remembered": "MRR ≥ 0.95", "typo": "hit@10 ≥ 0.95"}


def questions(plan: measure.Plan) -> Iterator[Row]:
    """Ask all questions of reread, of its last release, and of agentsview."""
    root = corpus(plan)
    add_asked(root)
    peers = {"reread": ours(root), regress.RELEASES[0]: released(root), "agentsview": agentsview(root)}
    for kind in KINDS:
        (own, *others) = ((name, score(ask, kind)) for name, ask in peers.items())
        beside = "; ".join(f"{name}: {_text(found)}" for name, found in others)
        yield Row(f"{len(QUESTIONS[kind])} questions: {kind}", _text(own[1]), beside, goal=GOALS.get(kind, ""))


def _text(found: tuple[float, float, float]) -> str:
    rank, ten, empty = found
    return f"MRR {rank:.2f}, hit@10 {ten:.2f}, empty {empty:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="60 generated sessions instead of 600")
    measure.report_chosen({"questions": questions}, parser, measure.Plan())


if __name__ == "__main__":
    main()
