"""Build the documents as a site in build/site; `make docs` runs this. It fails if a link leads nowhere.

The documents link to each other as they lie in the repository, so they are copied to the same places, with every file
that they link to.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
STAGED = ROOT / "build" / "documents"
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "bench" / "README.md"]
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def linked_files(document: Path) -> set[Path]:
    """Return the files of the repository that a document links to."""
    named = _LINK.findall(document.read_text(encoding="utf-8"))
    return {path for name in named if (path := (document.parent / name).resolve()).is_file()}


def main() -> None:
    """Copy the documents, and build the site from the copies."""
    shutil.rmtree(STAGED, ignore_errors=True)
    for path in {path for document in DOCUMENTS for path in (document, *linked_files(document))}:
        copy = STAGED / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    sys.exit(subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"], cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
