"""Redaction: how fast texts are scanned, what is found of planted secrets, and what real code is taken for one.

PYTHONPATH=tests python bench/redaction.py   # 20 MB of a generated session, 20 MB of code
"""

from __future__ import annotations

import random
import sysconfig
import time
from collections import Counter
from pathlib import Path

from planting import HIDING_PLACES, secrets

from reread.addons.kingfisher.scanner import find_kingfisher, kingfisher_secrets
from reread.disk.sources import MemorySource
from reread.redaction.personal import Personal
from reread.redaction.rewrite import FileRedaction
from reread.redaction.scan import SecretScanner
from reread.redaction.spans import leaves, replace_spans

ROOT = Path(__file__).parent.parent
CODE_MB = 20
CODE = {
    "standard library": (Path(sysconfig.get_paths()["stdlib"]), ("*.py",)),
    "site-packages": (Path(sysconfig.get_paths()["purelib"]), ("*.py",)),
    "node_modules": (ROOT / "web" / "node_modules", ("*.js", "*.ts", "*.md", "*.json")),
    "samples": (ROOT / "src" / "reread" / "samples", ("*.jsonl",)),
}


def code_files(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    files = [path for pattern in patterns for path in folder.rglob(pattern) if path.is_file()]
    random.Random(1).shuffle(files)
    return files


def scan_code() -> None:
    for name, (folder, patterns) in CODE.items():
        scanner = SecretScanner(Personal(b"", users=["wilhelmina"]))
        size, spent, found = 0, 0.0, Counter[str]()
        for path in code_files(folder, patterns):
            text = path.read_text("utf-8", "replace")
            start = time.process_time()
            spans = scanner.find(text)
            spent += time.process_time() - start
            size += len(text)
            found.update(span.level for span in leaves(spans) if span.kind != "binary")
            if size > CODE_MB * 1e6:
                break
        rates = ", ".join(f"{found[level] / size * 1e6:.2f} {level}" for level in ("certain", "likely", "personal"))
        print(f"{name:18} {size / 1e6:6.1f} MB  {size / spent / 1e6:5.1f} MB/s  a MB: {rates}")


def scan_records() -> None:
    sessions = (ROOT / "src" / "reread" / "samples").rglob("*.jsonl")
    data = b"".join(path.read_bytes() for path in sessions)
    data *= max(1, int(20e6 / len(data)))
    personal = Personal(b"", users=["wilhelmina"])
    start = time.process_time()
    FileRedaction(MemorySource(data), SecretScanner(personal)).find(lambda *_: None)
    spent = time.process_time() - start
    print(f"{'records, decoded':18} {len(data) / 1e6:6.1f} MB  {len(data) / spent / 1e6:5.1f} MB/s")


def recall() -> None:
    scanner, planted, missed = SecretScanner(), 0, Counter[str]()
    for seed in range(3):
        for _, text, secret in secrets(seed):
            for place, hide in HIDING_PLACES.items():
                hidden = hide(text)
                planted += 1
                missed[place] += secret in replace_spans(hidden, scanner.find(hidden), lambda _: "")
    left = sum(missed.values())
    print(f"planted {planted:,}, left {left} ({100 - 100 * left / planted:.2f} % found)")


def compare() -> None:
    if find_kingfisher() is None:
        print("Kingfisher is not installed")
        return
    made = secrets(9)
    theirs = {span.value for span in kingfisher_secrets(f"{name} = '{text}'" for name, text, _ in made)}
    found = sum(any(secret in value or value in secret for value in theirs) for _, _, secret in made)
    print(f"of {len(made)} published formats, Kingfisher finds {found}")


if __name__ == "__main__":
    scan_records()
    scan_code()
    recall()
    compare()
