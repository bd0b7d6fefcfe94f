"""Write what the wheel carries of others: `sbom.cdx.json`, which goes into the wheel, and `docs/licences.md`.

    python scripts/make_sbom.py

The libraries in the built reader come from `web/package-lock.json`, and the prices from `prices.json`. A test makes
both files again and compares them with the committed ones.
"""

import base64
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
LOCKED = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
PRICES = json.loads((ROOT / "src" / "reread" / "accounting" / "prices.json").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

DEPENDENCIES = {
    "anyio": "MIT",
    "backports.zstd": "PSF-2.0",
    "claude-agent-sdk": "MIT",
    "click": "BSD-3-Clause",
    "duckdb": "MIT",
    "kingfisher-bin": "Apache-2.0",
    "markdown-it-py": "MIT",
    "mcp": "MIT",
    "msgspec": "BSD-3-Clause",
    "platformdirs": "MIT",
    "pyarrow": "Apache-2.0",
    "pygls": "Apache-2.0",
    "pyiceberg": "Apache-2.0",
    "pyspark": "Apache-2.0",
    "rich": "MIT",
    "starlette": "BSD-3-Clause",
    "tantivy": "MIT",
    "uvicorn": "BSD-3-Clause",
    "watchfiles": "MIT",
}
"""The licence of each package that pip installs with reread or with one of its extras."""

INTRODUCTION = """\
# What reread is made of

Made by `python scripts/make_sbom.py`. reread itself has the [MIT licence](../LICENSE).

## In the wheel

The built reader contains these libraries; `reread/reader/static/NOTICES.txt` has their full licence texts, and an
exported page carries them too. The prices of models are data from genai-prices. The wheel has the same list as a
CycloneDX file, in `reread-VERSION.dist-info/sboms/`. Nothing in it is compiled.

| part | version | licence |
|---|---|---|
"""
BESIDE = """
## Beside it

pip installs these from PyPI, each under its own licence. Those without an extra come with every installation.

| package | extra | licence |
|---|---|---|
"""


class Part(NamedTuple):
    """A library or a table of somebody else that is in the wheel."""

    name: str
    version: str
    licence: str
    url: str
    """Its package URL, as the purl specification has it."""
    sha512: str = ""
    """The checksum of the package in hexadecimal, if the lock file has it."""

    @property
    def component(self) -> dict[str, object]:
        """The part as CycloneDX has it."""
        kind = "library" if self.url.startswith("pkg:npm") else "data"
        own = {"type": kind, "bom-ref": self.url, "name": self.name, "version": self.version, "purl": self.url}
        hashes = [{"alg": "SHA-512", "content": self.sha512}] if self.sha512 else []
        return {**own, "licenses": [{"license": {"id": self.licence}}], **({"hashes": hashes} if hashes else {})}


def parts() -> Iterator[Part]:
    """Yield every part that is in the wheel."""
    for path, package in LOCKED.items():
        if path and not package.get("dev") and "/@types/" not in path:
            name = path.rpartition("node_modules/")[2]
            url = f"pkg:npm/{name.replace('@', '%40')}@{package['version']}"
            algorithm, _, digest = package["integrity"].partition("-")
            assert algorithm == "sha512", path
            yield Part(name, package["version"], package["license"], url, base64.b64decode(digest).hex())
    for source in PRICES["sources"]:
        if found := re.fullmatch(r"genai-prices (\S+)", source):
            yield Part("genai-prices", found[1], "MIT", f"pkg:pypi/genai-prices@{found[1]}")


def bill() -> str:
    """Return the bill of materials as CycloneDX 1.6."""
    version = (ROOT / "src" / "reread" / "base" / "version.py").read_text(encoding="utf-8").split('"')[-2]
    url = f"pkg:pypi/reread@{version}"
    own = {"type": "application", "bom-ref": url, "name": "reread", "version": version, "purl": url}
    listed = sorted(parts())
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**own, "licenses": [{"license": {"id": PROJECT["license"]}}]}},
        "components": [part.component for part in listed],
        "dependencies": [{"ref": url, "dependsOn": [part.url for part in listed]}],
    }
    return json.dumps(document, indent=1) + "\n"


def page() -> str:
    """Return the list of licences as a document."""
    carried = [f"| {part.name} | {part.version} | {part.licence} |" for part in sorted(parts())]
    beside = [f"| {name} | {extra} | {DEPENDENCIES[name]} |" for name, extra in sorted(needed())]
    return INTRODUCTION + "\n".join(carried) + "\n" + BESIDE + "\n".join(beside) + "\n"


def needed() -> Iterator[tuple[str, str]]:
    """Yield each package that pip installs, with the extra that asks for it."""
    for extra, names in {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}.items():
        for name in names:
            yield re.split(r"[<>=!~;\[ ]", name)[0], extra


FILES = {"sbom.cdx.json": bill, "docs/licences.md": page}

if __name__ == "__main__":
    for name, made in FILES.items():
        (ROOT / name).write_text(made(), encoding="utf-8")
