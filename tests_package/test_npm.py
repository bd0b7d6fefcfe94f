"""The npm package that `make package` built, in applications that install it: one of Vite, and a server of React."""

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
FILES = {
    "package.json": '{"name": "app", "private": true, "type": "module"}',
    "index.html": '<div id="root"></div><script type="module" src="/main.jsx"></script>',
    "main.jsx": """
        import { createRoot } from "react-dom/client";
        import { App } from "./app.jsx";
        createRoot(document.getElementById("root")).render(<App />);""",
    "app.jsx": """
        import { SessionRenderer } from "reread-react";
        import session from "./session.json";
        export const App = () => <SessionRenderer session={session} />;""",
    "server.mjs": """
        import { readFileSync } from "node:fs";
        import { createElement } from "react";
        import { renderToPipeableStream } from "react-dom/server";
        import { SessionRenderer } from "reread-react";
        const session = JSON.parse(readFileSync("session.json", "utf8"));
        renderToPipeableStream(createElement(SessionRenderer, { session })).pipe(process.stdout);""",
    "session.json": json.dumps(SESSION),
}


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An application with the package installed."""
    folder = tmp_path_factory.mktemp("app")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    run(NPM, "install", "--silent", "--no-audit", "--no-fund", str(TARBALL), "react", "react-dom", "vite", cwd=folder)
    return folder


def test_vite_builds_an_application_with_it(app: Path) -> None:
    run(NPM, "exec", "--", "vite", "build", cwd=app)
    [script] = (app / "dist/assets").glob("*.js")
    assert "adoptedStyleSheets" in script.read_text()


def test_a_server_streams_its_plain_text(app: Path) -> None:
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
