"""The npm package in an application of its own: packed, installed, type-checked, built and opened in Chromium.

To build it takes longer than most files of tests, so `make package` runs these.
"""

import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from effort import SAMPLE, sampled
from playwright.sync_api import expect

from browser.conftest import DEMO, until

pytestmark = [sampled, pytest.mark.skipif(SAMPLE, reason="`make package` runs these")]

Tab = Callable[..., Any]

WEB = Path(__file__).parents[2] / "web"
MODULES = WEB / "node_modules"
NPM = shutil.which("npm")

APP = """
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { SessionRenderer, MessageList, Message, MessageHeader, ContentBlocks, TextBlock, ThinkingBlock, ToolUseBlock,
  type Session, type TranscriptRecord } from "reread-react";

const load = async <T,>(name: string): Promise<T> => (await fetch(name)).json() as Promise<T>;
const [session, records] = await Promise.all([load<Session>("session.json"), load<TranscriptRecord[]>("records.json")]);

const long = Array.from({ length: 3000 }, (_, index) => ({
  type: "user", uuid: String(index), message: { role: "user", content: `Prompt ${index}` },
}));

function Growing() {
  const [count, setCount] = useState(2);
  return (
    <>
      <button onClick={() => setCount(count + 1)}>More</button>
      <MessageList messages={session.messages.slice(0, count)} />
    </>
  );
}

createRoot(document.getElementById("root")!).render(
  <>
    <h1 id="own">My own page</h1>
    <section id="session"><SessionRenderer session={session} theme="light" /></section>
    <section id="records"><SessionRenderer messages={records} /></section>
    <section id="messages"><MessageList messages={session.messages.slice(0, 3)} /></section>
    <section id="growing"><Growing /></section>
    <section id="breaks">
      <SessionRenderer session={{ ...session, cache_breaks: [
        { message: session.messages[1]!.id, cause: "resume", detail: "22 min idle", tokens: 118_000, cost_usd: 0.74 },
        { message: session.messages[2]!.id, cause: "system_changed", detail: "", tokens: 2_500, cost_usd: null },
      ] }} />
    </section>
    <section id="parts">
      <Message message={session.messages[1]!}>
        <MessageHeader model="claude-opus-5-5" timestamp="2026-11-09T08:12:04Z" />
        <ContentBlocks blocks={[{ type: "text", text: "**bold** <script>alert(1)</script>" }]} />
      </Message>
      <TextBlock text="A `code` span" />
      <ThinkingBlock thinking="Hm, let me see." collapsed={false} />
      <ToolUseBlock name="Deploy" input={{ stage: "production" }} result={{ type: "tool_result", content: "3 of 3" }} />
    </section>
    <section id="long" style={{ height: 400, overflow: "auto" }}><SessionRenderer messages={long} /></section>
  </>,
);
"""
HYDRATED = """
import { hydrateRoot } from "react-dom/client";
import { SessionRenderer, type Session } from "reread-react";

const session = await (await fetch("session.json")).json() as Session;
const failed = (error: unknown) => console.error(String(error));
hydrateRoot(document.getElementById("root")!, <SessionRenderer session={session} />, { onRecoverableError: failed });
"""
PAGE = """<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>app</title>
    <style>
      :root { text-align: center; letter-spacing: 3px; line-height: 3; color: rgb(0, 255, 0); word-spacing: 9px; }
      * { box-sizing: content-box; }
      p, code, pre, span { color: rgb(255, 0, 0) !important; background: rgb(0, 0, 0) !important; }
      ul { list-style: none; } a { color: rgb(255, 0, 0); } h1 { font-size: 80px !important; }
    </style>
  </head>
  <body><div id="root"></div><script type="module" src="main.tsx"></script></body>
</html>
"""
PAGES = 'export default { build: { rolldownOptions: { input: ["index.html", "hydrated.html"] } } };'
CONFIG = {
    "compilerOptions": {
        "strict": True,
        "target": "es2023",
        "lib": ["es2023", "dom"],
        "module": "esnext",
        "moduleResolution": "bundler",
        "jsx": "react-jsx",
        "noEmit": True,
        "resolveJsonModule": True,
        "types": ["react"],
        "typeRoots": [str(MODULES / "@types")],
        "paths": {
            name: [str(MODULES / "@types" / name)] for name in ("react", "react/jsx-runtime", "react-dom/client")
        },
    },
    "include": ["*.tsx"],
}


SERVER = """
import { readFileSync } from "node:fs";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import * as components from "reread-react";

const { SessionRenderer, ...parts } = components;
const session = JSON.parse(readFileSync("session.json", "utf8"));
const [message] = session.messages;
const { blocks } = message;
const props = { message, messages: [message], blocks, text: "T", thinking: "H", name: "Deploy", input: {} };
const whole = renderToString(createElement(SessionRenderer, { session }));
const written = Object.values(parts).filter((part) => part !== components.fromRecords);
console.log(JSON.stringify([whole, ...written.map((part) => renderToString(createElement(part, props)))]));
"""
"""What a server does with the components; React's own warnings and errors make it fail."""


def samples() -> list[str]:
    """The samples of the documents."""
    pages = (WEB.parent / "docs/components.md", WEB / "components/README.md")
    return [sample for page in pages for sample in re.findall(r"```tsx\n(.+?)```", page.read_text(), re.DOTALL)]


def run(*command: str, cwd: Path) -> str:
    """Run a command and return what it prints; its output is the message if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    assert "Warning:" not in done.stderr, done.stderr
    return done.stdout


def shown_json(*arguments: str) -> Any:
    """What `reread show -f json` prints."""
    command = [sys.executable, "-m", "reread", "--demo", "show", "-f", "json", *arguments]
    return json.loads(subprocess.run(command, capture_output=True, timeout=150, check=True).stdout)


def install(tarball: Path, modules: Path) -> None:
    """Do what `npm install` does, in a fraction of its time; `tests_package` has it done by npm."""
    modules.mkdir()
    with tarfile.open(tarball) as archive:
        archive.extractall(modules, filter="data")
    (modules / "package").rename(modules / "reread-react")
    for name in ("react", "react-dom", "scheduler"):
        (modules / name).symlink_to((MODULES / name).resolve())


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
    (folder / "hydrate.tsx").write_text(HYDRATED)
    for number, sample in enumerate(samples()):
        (folder / f"sample{number}.tsx").write_text(sample)
    (folder / "server.mjs").write_text(SERVER)
    (folder / "index.html").write_text(PAGE)
    (folder / "tsconfig.json").write_text(json.dumps(CONFIG))
    install(tarball, folder / "node_modules")
    session = shown_json(DEMO["flaky"])
    (folder / "session.json").write_text(json.dumps(session))
    public = folder / "public"
    public.mkdir()
    (public / "session.json").write_text(json.dumps(session))
    (public / "records.json").write_text(f"[{','.join(Path(session['path']).read_text().splitlines())}]")
    run("node", str(MODULES / "typescript/bin/tsc"), "-p", str(folder), cwd=folder)
    whole = json.loads(run("node", "server.mjs", cwd=folder))[0]
    page = PAGE.replace("main.tsx", "hydrate.tsx").replace('<div id="root">', f'<div id="root">{whole}')
    (folder / "hydrated.html").write_text(page)
    (folder / "vite.config.mjs").write_text(PAGES)
    run("node", str(MODULES / "vite/bin/vite.js"), "build", "--base", "./", str(folder), cwd=folder)
    return folder


@contextmanager
def serving_files(folder: Path) -> Iterator[str]:
    """The address of a server for the files of a folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def app(project: Path, tab: Tab) -> Iterator[Any]:
    """The application, opened in a tab that shows all of it."""
    with serving_files(project / "dist") as address:
        yield tab(address, viewport={"width": 1280, "height": 12_000})


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
    session.get_by_role("button", name="thinking").first.click()
    expect(session.locator(".thinking").first).to_contain_text("smells of randomness")


def test_a_message_whose_request_wrote_the_cache_again_says_why(app: Any) -> None:
    texts = [
        "Cache rewritten: 22 min idle · 118k tokens · $0.74",
        "Cache rewritten: system prompt changed · 2.5k tokens",
    ]
    expect(app.locator("#breaks .cache-break")).to_have_text(texts)
    expect(app.locator("#breaks .message", has=app.locator(".cache-break"))).to_have_count(2)


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


def test_what_is_open_stays_open_while_messages_are_added(app: Any) -> None:
    growing = app.locator("#growing")
    growing.locator(".call .disclosure").first.click()
    expect(growing.locator(".call .indented").first).to_be_visible()
    growing.get_by_role("button", name="More").click()
    expect(growing.locator(".message")).to_have_count(3)
    expect(growing.locator(".call .disclosure").first).to_have_attribute("aria-expanded", "true")


def style(element: Any, name: str) -> str:
    """The computed value of a property."""
    return element.evaluate("(element, name) => getComputedStyle(element)[name]", name)


def test_the_styles_stay_inside_the_components(app: Any) -> None:
    assert style(app.locator("#own"), "fontSize") == "80px"
    assert style(app.locator("body"), "margin") == "8px"


def test_the_styles_of_the_page_do_not_reach_the_components(app: Any) -> None:
    assert style(app.locator("#own"), "textAlign") == "center"
    text = app.locator("#parts .prose p").first
    names = ("textAlign", "letterSpacing", "wordSpacing", "lineHeight", "boxSizing", "backgroundColor")
    wanted = ["start", "normal", "0px", "24px", "border-box", "rgba(0, 0, 0, 0)"]
    assert [style(text, name) for name in names] == wanted
    assert style(text, "fontFamily").startswith("-apple-system")
    for element in (text, app.locator("#parts .prose code"), app.locator("#session h1")):
        assert style(element, "color") not in ("rgb(255, 0, 0)", "rgb(0, 255, 0)")
        assert style(element, "backgroundColor") != "rgb(0, 0, 0)"
    assert style(app.locator("#session h1"), "fontSize") != "80px"


def test_of_a_long_session_only_what_is_near_the_screen_is_in_the_page(app: Any) -> None:
    app.set_viewport_size({"width": 1280, "height": 800})
    box = app.locator("#long")
    box.scroll_into_view_if_needed()
    expect(box.get_by_text("Prompt 0", exact=True)).to_be_visible()
    assert box.locator("*").count() < 600
    box.evaluate("box => { box.scrollTop = box.scrollHeight / 2 }")
    expect(box.get_by_text(re.compile("^Prompt 1[4-6]..$")).first).to_be_attached()
    box.evaluate("box => { box.scrollTop = box.scrollHeight }")
    box.get_by_text("Prompt 2999", exact=True).scroll_into_view_if_needed()
    expect(box.get_by_text("Prompt 2999", exact=True)).to_be_in_viewport()
    assert box.locator("*").count() < 600


def test_a_server_writes_the_plain_text(project: Path) -> None:
    whole, *parts = json.loads(run("node", "server.mjs", cwd=project))
    assert "Fix the flaky ceiling test" in whole
    assert "has failed on CI three times" in whole
    assert len(parts) == 7
    assert all("<div" in part for part in parts)


def test_the_page_replaces_what_a_server_wrote(project: Path, tab: Tab) -> None:
    with serving_files(project / "dist") as address:
        page = tab(address)
        page.goto(f"{address}hydrated.html")
        expect(page.locator("#root .message.prompt").first).to_contain_text("has failed on CI three times")
        until(page, "!document.querySelector('#root > div').childElementCount")  # the plain text is gone
