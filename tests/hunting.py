"""Needles in vendors' formats, hidden by every encoding in every place of a session; and the search for them."""

from __future__ import annotations

import base64
import binascii
import gzip
import html
import json
import random
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import planted
from planting import example

from reread.redaction.vendors import VENDORS

FAMOUS = """anthropic-key openai-key openrouter-key hugging-face-token groq-key replicate-token xai-key github-token
gitlab-token npm-token pypi-token rubygems-key docker-token aws-access-key-id aws-secret-key google-api-key
google-oauth-secret google-oauth-token azure-storage-key azure-client-secret digitalocean-token heroku-key fly-token
supabase-key planetscale-secret databricks-token cloudflare-token vault-token terraform-token pulumi-token doppler-token
slack-token slack-webhook discord-token discord-webhook telegram-token twilio-key sendgrid-key mailgun-key mailchimp-key
stripe-key square-token shopify-token plaid-token linear-key notion-token airtable-token figma-token hubspot-token
grafana-token newrelic-key sentry-token posthog-key datadog-key age-key json-web-token""".split()
PIECE = 16
"""So many characters of a needle in a row are a leak."""


def _wrapped(text: str, width: int, prefix: str = "", end: str = "") -> str:
    return f"{end}\n{prefix}".join(text[n : n + width] for n in range(0, len(text), width))


def _each(text: str, form: str, every: int = 1) -> str:
    return "".join(form.format(ord(c)) if n % every == 0 else c for n, c in enumerate(text))


def _b64(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda s: f"use {s} there",
    "assignment": lambda s: f'THE_KEY="{s}"',
    "environment": lambda s: f"PATH=/usr/bin\nTHE_VALUE={s}\nLANG=C",
    "json": lambda s: json.dumps({"env": {"X": s}}),
    "json in json": lambda s: json.dumps(json.dumps({"env": {"X": s}})),
    "json in json in json": lambda s: json.dumps(json.dumps(json.dumps([s]))),
    "unicode escapes": lambda s: f'{{"a": "{_each(s, chr(92) + "u{:04x}")}"}}',
    "some unicode escapes": lambda s: f'{{"a": "{_each(s, chr(92) + "u{:04X}", 3)}"}}',
    "escaped escapes": lambda s: json.dumps(_each(s, "\\u{:04x}", 2)),
    "hexadecimal escapes": lambda s: f"$'{_each(s, chr(92) + 'x{:02x}')}'",
    "octal escapes": lambda s: f"$'{_each(s, chr(92) + '{:03o}')}'",
    "percent": lambda s: f"https://x.dev/?q={_each(s, '%{:02X}')}&r=1",
    "URL": lambda s: f"https://x.dev/?q={quote(s, safe='')}&r=1",
    "URL in URL": lambda s: f"https://x.dev/?u={quote('https://y.dev/?k=' + quote(_each(s, '%{:02x}', 2)), safe='')}",
    "HTML numbers": lambda s: f"<b>{_each(s, '&#{};')}</b>",
    "HTML hexadecimal": lambda s: f"<b>{_each(s, '&#x{:x};', 2)}</b>",
    "Markdown escapes": lambda s: "The key " + re.sub(r"([_~*-])", r"\\\1", s) + " works",
    "base64": lambda s: _b64(f"user:{s}\n"),
    "base64 of itself": lambda s: _b64(s),
    "base64 without padding": lambda s: _b64(f"k={s}").rstrip("="),
    "base64 for URLs": lambda s: base64.urlsafe_b64encode(f"~~~?>{s}".encode()).decode(),
    "base64 in lines of 76": lambda s: _wrapped(_b64(f"the first line of a file\nx = {s}\nmore of it\n" * 2), 76),
    "base64 in lines of 64, escaped": lambda s: json.dumps(_wrapped(_b64(f"some text before\nx = {s}\n" * 2), 64)),
    "base64 in a URL": lambda s: f"https://x.dev/?d={quote(_b64('>>>???~~~' + s), safe='')}",
    "base64 with escaped slashes": lambda s: _b64(f"\u00ff\u00fe??>>{s}").replace("/", "\\/"),
    "base64 of JSON": lambda s: _b64(json.dumps({"auths": {"r": {"auth": s}}})),
    "base64 of base64": lambda s: _b64(_b64(f"x={s}")),
    "base64 of UTF-16": lambda s: _b64(f"$k = '{s}'".encode("utf-16-le")),
    "base64 of gzip": lambda s: _b64(gzip.compress(f"x={s}\n".encode())),
    "base64 of zlib": lambda s: _b64(zlib.compress(f"x={s}\n".encode())),
    "data URL": lambda s: f"data:text/plain;base64,{_b64(f'x={s}')}",
    "hexadecimal": lambda s: f"0x{s.encode().hex()}",
    "hexadecimal in lines": lambda s: _wrapped(f"key: {s}\n".encode().hex(), 60),
    "lines of 24": lambda s: f"the value:\n{_wrapped(s, 24)}\nnext line",
    "lines of 40": lambda s: f"the value:\r\n{_wrapped(s, 40).replace(chr(10), chr(13) + chr(10))}\r\nnext line",
    "indented lines": lambda s: f"key:\n    {_wrapped(s, 30, '    ')}\nother: 1",
    "quoted lines": lambda s: f"> {_wrapped(s, 28, '> ')}\n",
    "lines of a diff": lambda s: f"@@ -1 +1 @@\n-x\n+{_wrapped(s, 31, '+')}\n b",
    "numbered lines": lambda s: f"     1→x\n     2→{_wrapped(s, 27, '     3→')}\n     4→y",
    "continued lines": lambda s: f"curl -H {_wrapped(s, 26, '', chr(92))}",
    "concatenated lines": lambda s: f'k = ("{_wrapped(s, 25, "     " + chr(34), chr(34) + " +")}")',
    "escaped lines": lambda s: json.dumps(f"the value:\n{_wrapped(s, 26)}\nnext"),
    "quoted-printable lines": lambda s: f"Subject: x\n\n{_wrapped(s, 30, '', '=')}\n",
    "coloured": lambda s: f"found \x1b[1;31m{s}\x1b[0m here",
    "coloured within": lambda s: f"found \x1b[1m{s[:9]}\x1b[31m{s[9:20]}\x1b[0m{s[20:]} here",
    "escaped colours": lambda s: json.dumps(f"\x1b[1m{s[:9]}\x1b[31m{s[9:]}\x1b[0m"),
    "zero-width space": lambda s: f"key {s[:10]}\u200b{s[10:]} end",
    "diff of words": lambda s: f"[-old-]{{+{s}+}}",
    "path": lambda s: f"/tmp/backup_{s}.txt",
    "XML": lambda s: f"<add key='k' value='{html.escape(s)}' />",
    "touching text": lambda s: f"key:{s};next={s}\\nmore",
}


class Hunt(planted.Planting):
    """Makes records with hidden needles, a vendor and an encoding for each place in turn."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        rng = random.Random(seed)
        self.rng = rng
        by_name = {vendor.name: vendor for vendor in VENDORS}
        self._vendors = [by_name[name] for name in FAMOUS]
        self._encodings = list(ENCODINGS.items())
        self._turn = rng.randrange(1000)

    def _made(self) -> tuple[str, str, str]:
        self._turn += 1
        vendor = self._vendors[self._turn * 13 % len(self._vendors)]
        text, secret = example(vendor, self.rng)
        if text != secret and "[\\s" in vendor.pattern:  # a name and its value, and anything between these
            text = f'{vendor.keywords.split()[0]}="{secret}"'
        return vendor.name, text, secret

    def word(self, place: str) -> str:
        """Return a needle as it is, for a place that takes no text; a short one without slashes and spaces."""
        while True:
            name, text, secret = self._made()
            if text == secret and len(secret) < 100 and re.fullmatch(r"[\w.-]+", secret):
                self.needles[f"{place}, plain, {name}"] = secret
                return secret

    def __call__(self, place: str, encoding: str | None = None) -> str:
        how = encoding or self._encodings[self._turn % len(self._encodings)][0]
        name, text, secret = self._made()
        while text != secret and ("lines" in how or "within" in how):  # nobody breaks a name and its value as one word
            name, text, secret = self._made()
        self.needles[f"{place}, {how}, {name}"] = secret
        return ENCODINGS[how](text)


def texts_of(place: str, hunt: Hunt) -> Iterator[str]:
    """Yield a needle in each encoding."""
    for encoding in ENCODINGS:
        yield hunt(place, encoding)


_PACKED = re.compile(rb'data-chunk="\d+">([A-Za-z0-9+/=]+)<')
_RUN = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){12,}")
_BROKEN = re.compile(r"[ \t\"'`\\+=]*\r?\n[ \t]*(?:\d+→)?[+>]?[ \t\"']*")
_HIDDEN = re.compile("\x1b\\[[0-9;]*m|\u200b")


def unpacked(data: bytes, depth: int = 3) -> Iterator[str]:
    """Yield the bytes as text, and all that is packed, encoded, escaped or broken over lines in them."""
    for chunk in _PACKED.findall(data):
        try:
            yield from unpacked(zlib.decompress(base64.b64decode(chunk), -15), depth)
        except (zlib.error, binascii.Error):
            yield from unpacked(base64.b64decode(chunk), depth)
    text = _PACKED.sub(b"", data).decode("utf-8", "replace")
    waiting = [(piece, depth) for piece in (text, *_strings(text))]
    seen = set[str]()
    while waiting:
        text, left = waiting.pop()
        if len(text) < PIECE or text in seen:
            continue
        seen.add(text)
        for _ in range(4):
            for reading in (text, _BROKEN.sub("", text), _HIDDEN.sub("", text)):
                yield reading
                waiting += ((inner, left - 1) for inner in _encoded(reading) if left)
            before, text = text, _unescaped(text)
            if text == before:
                break


def _strings(text: str) -> Iterator[str]:
    """Yield the strings of JSON, of each line that is JSON, and the pieces of a stream joined."""
    pieces: dict[tuple[int, str], str] = {}
    for line in (text, *text.split("\n")):
        try:
            waiting = [json.loads(line)]
        except (ValueError, RecursionError):
            continue
        while waiting:
            node = waiting.pop()
            if isinstance(node, str):
                yield node
            elif isinstance(node, dict):
                for field in ("text", "partial_json", "thinking") if isinstance(node.get("delta"), dict) else ():
                    place = (node.get("index", 0), field)
                    pieces[place] = pieces.get(place, "") + str(node["delta"].get(field, ""))
                waiting += (*node, *node.values())
            elif isinstance(node, list):
                waiting += node
    yield from pieces.values()


def _character(found: re.Match[str]) -> str:
    code, octal, sign = found.groups()
    return chr(int(code, 16)) if code else chr(int(octal, 8) & 127) if octal else sign


def _unescaped(text: str) -> str:
    text = html.unescape(text) if "&" in text else text
    text = unquote(text) if "%" in text else text
    return re.sub(r"\\+(?:(?:u00|x)([0-7][0-9a-fA-F])|([0-7]{3})|([^A-Za-z0-9]))", _character, text).replace(
        "\\n", "\n"
    )


def _encoded(text: str) -> Iterator[str]:
    joined = re.sub(r"(?<=[A-Za-z0-9+/]{40})\r?\n(?=[A-Za-z0-9+/])", "", text)
    runs = [*_RUN.findall(text), *_RUN.findall(joined)]
    for run in dict.fromkeys([*runs, *(run.rpartition("/")[2] for run in runs)]):
        body = run.rstrip("=").replace("-", "+").replace("_", "/")
        data = base64.b64decode(body[: len(body) - (len(body) % 4 == 1)] + "=" * (-len(body) % 4))
        yield from _texts_in(data)
    for run in _HEX.findall(text.replace("\n", "")):
        yield from _texts_in(bytes.fromhex(run))


def _texts_in(data: bytes) -> Iterator[str]:
    yield data.decode("latin-1")
    if b"\0" in data:
        yield data.replace(b"\0", b"").decode("latin-1")
    for wbits in (31, 15):
        try:
            yield zlib.decompressobj(wbits).decompress(data, 1 << 20).decode("latin-1")
        except zlib.error:
            continue


def leaks(needles: dict[str, str], documents: Iterable[bytes]) -> dict[str, str]:
    """Return the needles of which a part is in one of the documents, each with the text around it."""
    owners: dict[str, set[str]] = {}
    for place, needle in needles.items():
        for n in range(max(1, len(needle) - PIECE + 1)):
            owners.setdefault(needle[n : n + PIECE], set()).add(place)
    pieces = {piece: next(iter(places)) for piece, places in owners.items() if len(places) == 1}
    found: dict[str, str] = {}
    for document in documents:
        for text in unpacked(document):
            for n in range(len(text) - PIECE + 1):
                place = pieces.get(text[n : n + PIECE])
                if place is not None and place not in found:
                    found[place] = text[max(0, n - 60) : n + 60]
    return found


def _places(hunt: Hunt, hide: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    """Yield a record for each place in which text can stand."""
    text, call, own = planted.text, planted.call, {"sessionId": planted.ID}
    yield {"type": "summary", "summary": hide("summary"), "leafUuid": "x"}
    yield {"type": "custom-title", "customTitle": hide("custom title"), **own}
    yield {"type": "ai-title", "aiTitle": hide("title"), **own}
    yield {"type": "last-prompt", "lastPrompt": hide("last prompt"), **own}
    yield {"type": "tag", "tag": hide("tag"), **own}
    yield {"type": "agent-name", "agentName": hide("agent name"), **own}
    yield {"type": "pr-link", "prNumber": 1, "prUrl": hide("link"), "prRepository": hide("repository"), **own}
    yield {"type": "a-new-type", "payload": {"deep": [[hide("unknown record")]]}, **own}
    yield {"type": "queue-operation", "operation": "enqueue", "content": hide("queue"), **own}
    yield hunt.prompt(
        hide("prompt"), cwd=f"/home/wilhelmina/{hide('cwd')}", gitBranch=hide("branch"), slug=hide("slug")
    )
    yield hunt.prompt(
        [text(hide("block")), {"type": "document", "title": hide("document"), "source": {"type": "text"}}]
    )
    yield hunt.prompt([{"type": "image", "source": {"type": "url", "url": hide("picture's address")}}])
    yield hunt.prompt(
        f"<command-name>/{hide('command')}</command-name><command-args>{hide('arguments')}</command-args>"
    )
    yield hunt.prompt(f"<bash-input>{hide('shell input')}</bash-input>")
    yield hunt.prompt(f"<bash-stdout>{hide('shell output')}</bash-stdout><bash-stderr>{hide('errors')}</bash-stderr>")
    yield hunt.prompt(f"<system-reminder>{hide('reminder')}</system-reminder>", isMeta=True)
    yield hunt.prompt(hide("compaction"), isCompactSummary=True, isVisibleInTranscriptOnly=True)
    yield hunt.answer({"type": "thinking", "thinking": hide("thinking"), "signature": _b64(hide("signature") * 3)})
    yield hunt.answer({"type": "redacted_thinking", "data": hide("redacted thinking")})
    yield hunt.answer(text(hide("answer")), text(f"```sh\n{hide('code')}\n```"))
    yield hunt.answer({"type": "a_new_block", "content": {"value": hide("unknown block")}})
    yield hunt.answer(text(hide("API error")), isApiErrorMessage=True, error=hide("error"))
    number = len(hunt.needles)
    bash, write, edit, other = (f"toolu_{number}{letter}" for letter in "abcd")
    yield hunt.answer(call(bash, "Bash", command=hide("command line"), description=hide("description")))
    shown = {"stdout": hide("stdout"), "stderr": hide("stderr"), "interrupted": False}
    yield hunt.result(bash, hide("result"), shown)
    yield hunt.answer(call(write, "Write", file_path=f"/tmp/{hide('file name')}", content=hide("content")))
    patch = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": [f"+{hide('patch')}", "-x"]}
    data = {"filePath": "/tmp/x", "structuredPatch": [patch], "originalFile": hide("original")}
    yield hunt.result(write, [text(hide("result block"))], data)
    yield hunt.answer(call(edit, "Edit", file_path="/tmp/x", old_string=hide("old text"), new_string=hide("new text")))
    yield hunt.result(
        edit, [{"type": "image", "source": planted._picture(hide("picture"))}], "Error: " + hide("failure")
    )
    yield hunt.answer(
        call(other, "mcp__x__" + hide("tool name"), **{hide("key"): {hide("inner key"): [hide("list"), 1]}})
    )
    meta = {"structuredContent": {"a": hide("structured")}, "_meta": {hide("meta key"): hide("meta")}}
    yield hunt.prompt([{"type": "tool_result", "tool_use_id": other, "content": ""}], mcpMeta=meta, toolUseResult=[])
    lines = ENCODINGS["lines of 24"](hunt.word("lines of a list")).split("\n")
    yield hunt.prompt("list", toolUseResult={"lines": lines, "n": 1})
    file = {"filePath": hide("read path"), "content": hide("read file"), "numLines": 1}
    yield hunt.prompt("read", toolUseResult={"type": "text", "file": file})
    yield hunt.record(
        "attachment", attachment={"type": "file", "filename": hide("attachment's name"), "content": hide("attachment")}
    )
    yield hunt.record(
        "attachment",
        attachment={"type": "hook_success", "hookName": "x", "stdout": hide("hook"), "command": hide("run")},
    )
    yield hunt.record("system", subtype="local_command", content=hide("system"), level="info")
    yield hunt.record("system", subtype="stop_hook_summary", hookInfos=[{"command": hide("hook's command")}])
    yield hunt.record(
        "progress", data={"type": "bash_progress", "output": hide("progress"), "fullOutput": hide("full")}
    )
    snapshot = {"trackedFileBackups": {f"/x/{hide('tracked')}": {"backupFileName": hide("backup")}}}
    yield {"type": "file-history-snapshot", "messageId": "m", "snapshot": snapshot, "isSnapshotUpdate": False}


def native(folder: Path, seed: int, rounds: int = 1) -> tuple[Path, dict[str, str]]:
    """Write a session with agents, spilled results and sidecars; return its file and its needles."""
    hunt = Hunt(seed)
    own = folder / "projects" / "-home-wilhelmina-shop" / f"{planted.ID}.jsonl"
    beside = own.with_suffix("")
    for name in ("subagents", "tool-results"):
        (beside / name).mkdir(parents=True)
    lines: list[str] = []
    for _ in range(rounds):
        lines += (json.dumps(record) for record in _places(hunt, hunt))
    lines += (json.dumps(record, ensure_ascii=False) for record in _places(hunt, hunt))
    for name in ("torn", "not json"):
        lines.append(f'{{"type":"user","message":{{"content":"{hunt.word(name)}'[3 * (name == "not json") :])
    lines.append(json.dumps(hunt.prompt("x")).replace('"x"', '"' + _each(hunt.word("escaped line"), "\\u{:04x}") + '"'))
    lines.append(json.dumps(hunt.prompt("x")).replace('"message"', f'"a":"{hunt.word("doubled")}","a":"","message"', 1))
    lines.append(json.dumps({hunt.word("top key"): 1, "type": hunt.word("type"), "uuid": hunt.word("uuid")}))
    agent = hunt.word("agent's id")
    call = planted.call(f"toolu_{agent}", "Task", description="look", prompt=hunt("task"), subagent_type="Explore")
    lines.append(json.dumps(hunt.answer(call)))
    done = {"status": "completed", "agentId": agent, "content": [planted.text(hunt("agent's result"))]}
    lines.append(json.dumps(hunt.result(f"toolu_{agent}", "found", done)))
    own.write_text("\n".join(lines) + "\n", "utf-8")
    kept = [json.dumps({**record, "agentId": agent, "isSidechain": True}) for record in _places(hunt, hunt)]
    path = beside / "subagents" / f"agent-{agent}.jsonl"
    path.write_text("\n".join(kept) + "\n", "utf-8")
    meta = {"agentType": hunt("agent's type"), "description": hunt("agent's description"), hunt.word("key"): 1}
    path.with_suffix(".meta.json").write_text(json.dumps(meta), "utf-8")
    spilled = beside / "tool-results"
    (spilled / f"{hunt.word('name of a spilled result')}.txt").write_text(
        "\n--\n".join(texts_of("spilled", hunt)), "utf-8"
    )
    (spilled / "b.json").write_text(json.dumps([hunt("spilled JSON"), {hunt("spilled key"): hunt("deep")}]), "utf-8")
    (spilled / "c.bin").write_bytes(b"\x00\xff" + hunt.word("spilled bytes").encode() + bytes(range(256)))
    (spilled / "d.gz").write_bytes(gzip.compress(hunt.word("spilled gzip").encode()))
    (spilled / "e.png").write_bytes(base64.b64decode(planted._picture(hunt.word("spilled picture"))["data"]))
    (spilled / "f.txt").write_bytes(f"\ufeffx = {hunt.word('spilled UTF-16')}\n".encode("utf-16-le"))
    return own, hunt.needles


def streamed(folder: Path, seed: int) -> tuple[Path, dict[str, str]]:
    """Write the output of a stream in which needles are split over pieces."""
    hunt = Hunt(seed)
    base: dict[str, Any] = {"session_id": planted.ID, "parent_tool_use_id": None, "uuid": "u"}
    init = {"type": "system", "subtype": "init", "cwd": hunt("cwd"), "tools": [hunt("tool")], "model": "m"}
    records: list[dict[str, Any]] = [{**init, **base, "mcp_servers": [{"name": hunt("server"), "status": "x"}]}]

    def event(**fields: Any) -> None:
        records.append({"type": "stream_event", "event": fields, **base})

    event(type="message_start", message={"id": "msg_1", "role": "assistant", "model": "m", "content": []})
    kinds = {"text": "text_delta", "partial_json": "input_json_delta", "thinking": "thinking_delta"}
    fields = [(kind, encoding) for kind in kinds for encoding in ENCODINGS]
    for index, (field, encoding) in enumerate(fields):
        value = hunt(f"{field} delta", encoding)
        value = json.dumps({"command": value}) if field == "partial_json" else value
        event(type="content_block_start", index=index, content_block={"type": "text", "text": ""})
        for n in range(0, len(value), 7 + index % 5):
            event(
                type="content_block_delta",
                index=index,
                delta={"type": kinds[field], field: value[n : n + 7 + index % 5]},
            )
        event(type="content_block_stop", index=index)
    event(
        type="content_block_delta",
        index=999,
        delta={"type": "citations_delta", "citation": {"cited_text": hunt("cite")}},
    )
    content = [planted.text(hunt("answer")), planted.call("toolu_1", "Bash", command=hunt("command"))]
    records.append({"type": "assistant", "message": {"id": "msg_1", "role": "assistant", "content": content}, **base})
    records.append(
        {"type": "result", "subtype": "success", "result": hunt("result"), "errors": [hunt("error")], **base}
    )
    path = folder / "stream.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path, hunt.needles
