"""The npm package that `make package` built, in the applications of `examples` and in a server of React."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TARBALL = next(ROOT.glob("dist/reread-react-*.tgz"), None)
NPM = shutil.which("npm") or "npm"

pytestmark = pytest.mark.skipif(TARBALL is None, reason="there is no Node here, so there is no npm package")

MESSAGE = {
    "id": "1",
    "role": "user",
    "kind": "prompt",
    "timestamp": None,
    "model": None,
    "text": "Hello!",
    "blocks": [],
}
SESSION = {"id": "s", "title": "A title", "project": "/p", "models": [], "started": None, "messages": [MESSAGE]}
SESSION |= {"branches": [], "calls": [], "agents": {}}
SERVER = """
    import { readFileSync } from "node:fs";
    import { createElement } from "react";
    import { renderToPipeableStream } from "react-dom/server";
    import { SessionRenderer } from "reread-react";
    const session = JSON.parse(readFileSync("session.json", "utf8"));
    renderToPipeableStream(createElement(SessionRenderer, { session })).pipe(process.stdout);"""


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def built(example: str, folder: Path) -> Path:
    """An example, copied, with the package installed and a session beside it, after its own `npm run build`."""
    shutil.copytree(ROOT / "examples" / example, folder, dirs_exist_ok=True)
    (folder / "session.json").write_text(json.dumps(SESSION))
    run(NPM, "install", "--silent", "--no-audit", "--no-fund", str(TARBALL), cwd=folder)
    run(NPM, "run", "build", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of Vite."""
    return built("vite", tmp_path_factory.mktemp("vite"))


def test_vite_builds_an_application_with_it(app: Path) -> None:
    [script] = (app / "dist/assets").glob("*.js")
    assert "adoptedStyleSheets" in script.read_text()


def test_next_builds_an_application_with_it_and_writes_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEXT_TELEMETRY_DISABLED", "1")
    [page] = (built("next", tmp_path) / ".next/server/app").glob("index.html")
    assert "A title" in page.read_text()
    assert "Hello!" in page.read_text()


def test_a_server_streams_its_plain_text(app: Path) -> None:
    (app / "server.mjs").write_text(SERVER)
    html = run("node", "server.mjs", cwd=app)
    assert "A title" in html
    assert "Hello!" in html


def test_it_has_types_and_no_more_than_it_needs(app: Path) -> None:
    package = app / "node_modules/reread-react"
    assert {path.name for path in package.iterdir()} == {
        "LICENSE",
        "NOTICES",
        "README.md",
        "index.js",
        "package.json",
        "types",
    }
    assert "StreamMessage" in (package / "types/components/index.d.ts").read_text()
