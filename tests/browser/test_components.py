"""The npm package in an application of its own: packed, installed, type-checked, built and opened in Chromium."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.conftest import DEMO

Tab = Callable[..., Any]

WEB = Path(__file__).parents[2] / "web"
MODULES = WEB / "node_modules"
NPM = shutil.which("npm")

APP = """
import { createRoot } from "react-dom/client";
import { SessionRenderer, MessageList, Message, MessageHeader, ContentBlocks, TextBlock, ThinkingBlock, ToolUseBlock,
  type Session, type TranscriptRecord } from "reread-react";
import "reread-react/style.css";

const load = async <T,>(name: string): Promise<T> => (await fetch(name)).json() as Promise<T>;
const [session, records] = await Promise.all([load<Session>("session.json"), load<TranscriptRecord[]>("records.json")]);

createRoot(document.getElementById("root")!).render(
  <>
    <h1 id="own">My own page</h1>
    <section id="session"><SessionRenderer session={session} theme="light" /></section>
    <section id="records"><SessionRenderer messages={records} /></section>
    <section id="messages"><MessageList messages={session.messages.slice(0, 3)} /></section>
    <section id="parts">
      <Message message={session.messages[1]!}>
        <MessageHeader model="claude-opus-5-5" timestamp="2026-11-09T08:12:04Z" />
        <ContentBlocks blocks={[{ type: "text", text: "**bold** <script>alert(1)</script>" }]} />
      </Message>
      <TextBlock text="A `code` span" />
      <ThinkingBlock thinking="Hm, let me see." collapsed={false} />
      <ToolUseBlock name="Deploy" input={{ stage: "production" }} result={{ type: "tool_result", content: "3 of 3" }} />
    </section>
  </>,
);
"""
PAGE = """<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>app</title></head>
  <body><div id="root"></div><script type="module" src="main.tsx"></script></body>
</html>
"""
CONFIG = {
    "compilerOptions": {
        "strict": True,
        "target": "es2023",
        "lib": ["es2023", "dom"],
        "module": "esnext",
        "moduleResolution": "bundler",
        "jsx": "react-jsx",
        "noEmit": True,
        "types": ["react"],
        "typeRoots": [str(MODULES / "@types")],
        "paths": {
            name: [str(MODULES / "@types" / name)] for name in ("react", "react/jsx-runtime", "react-dom/client")
        },
    },
    "include": ["main.tsx", "css.d.ts"],
}


def run(*command: str, cwd: Path) -> None:
    """Run a command; its output is the message if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def shown_json(*arguments: str) -> Any:
    """What `reread show -f json` prints."""
    command = [sys.executable, "-m", "reread", "--demo", "show", "-f", "json", *arguments]
    return json.loads(subprocess.run(command, capture_output=True, timeout=60, check=True).stdout)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built application that uses the packed package, with React from the folder of the reader."""
    if NPM is None or not (MODULES / "vite").is_dir():
        pytest.skip("the components need Node and `make web`")
    folder = tmp_path_factory.mktemp("app")
    run("node", "components.mjs", str(folder / "package"), cwd=WEB)
    run(NPM, "pack", "--silent", "--pack-destination", str(folder), cwd=folder / "package")
    (tarball,) = folder.glob("reread-react-*.tgz")
    (folder / "package.json").write_text('{"name": "app", "private": true, "type": "module"}')
    (folder / "main.tsx").write_text(APP)
    (folder / "css.d.ts").write_text('declare module "*.css";')
    (folder / "index.html").write_text(PAGE)
    (folder / "tsconfig.json").write_text(json.dumps(CONFIG))
    libraries = [str((MODULES / name).resolve()) for name in ("react", "react-dom", "scheduler")]
    run(NPM, "install", "--offline", "--no-audit", "--no-fund", "--install-links", str(tarball), *libraries, cwd=folder)
    session = shown_json(DEMO["flaky"])
    public = folder / "public"
    public.mkdir()
    (public / "session.json").write_text(json.dumps(session))
    (public / "records.json").write_text(f"[{','.join(Path(session['path']).read_text().splitlines())}]")
    run("node", str(MODULES / "typescript/bin/tsc"), "-p", str(folder), cwd=folder)
    run("node", str(MODULES / "vite/bin/vite.js"), "build", "--base", "./", str(folder), cwd=folder)
    return folder


@pytest.fixture
def app(project: Path, tab: Tab) -> Iterator[Any]:
    """The application, opened in a tab."""
    handler = partial(QuietHandler, directory=str(project / "dist"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield tab(f"http://127.0.0.1:{server.server_port}/")
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        return


def test_a_session_is_shown_from_its_json(app: Any) -> None:
    session = app.locator("#session")
    expect(session.get_by_role("heading", name="Fix the flaky ceiling test")).to_be_visible()
    expect(session.locator(".message.prompt").first).to_contain_text("has failed on CI three times")
    edit = session.locator(".call", has_text="Edit").first
    edit.locator(".disclosure").first.click()
    expect(edit.locator(".diff .added").first).to_be_visible()
    failed = session.locator(".call.failed").first
    expect(failed.get_by_role("img", name="failed")).to_be_visible()
    thinking = session.locator(".thinking").first
    thinking.locator(".disclosure").click()
    expect(thinking).to_contain_text("smells of randomness")


def test_the_records_of_a_transcript_are_joined_and_paired(app: Any) -> None:
    records, session = app.locator("#records"), app.locator("#session")
    expect(records.locator(".message.response").first).to_be_visible()
    assert records.locator(".message.response").count() == session.locator(".message.response").count()
    assert records.locator(".call").count() == session.locator(".call").count()
    assert records.locator(".call.running").count() == 0
    call = records.locator(".call", has_text="Bash").first
    call.locator(".disclosure").first.click()
    expect(call.locator(".terminal").first).to_be_visible()


def test_each_component_works_by_itself(app: Any) -> None:
    expect(app.locator("#messages .message")).to_have_count(3)
    parts = app.locator("#parts")
    expect(parts.locator("strong")).to_have_text("bold")
    expect(parts).to_contain_text("<script>alert(1)</script>")
    expect(parts.locator(".embedded-header").first).to_contain_text("opus-5-5")
    expect(parts).to_contain_text("Hm, let me see.")
    parts.locator(".call .disclosure").click()
    expect(parts.locator(".call")).to_contain_text("3 of 3")


def test_the_styles_stay_inside_the_components(app: Any) -> None:
    heading = app.locator("#own")
    assert heading.evaluate("element => getComputedStyle(element).fontSize") == "32px"
    assert app.locator("body").evaluate("element => getComputedStyle(element).margin") == "8px"
    family = app.locator("#session .prose").first.evaluate("element => getComputedStyle(element).fontFamily")
    assert family.startswith("-apple-system")
