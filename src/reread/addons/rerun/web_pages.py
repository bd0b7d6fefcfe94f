"""Stand-ins for the pages that a session fetched: on loopback, for their hosts, with the recorded status."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from reread.addons.rerun.box import CERTIFICATE, INSIDE, PAGES, PORT
from reread.base import jsontext
from reread.base.coerce import as_dict, as_int, as_str

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reread.model.conversation import Call
    from reread.session.session import Session

FETCH = "WebFetch"
HOST = re.compile(r"[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,20}")
ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
LEADS_TO = re.compile(r"Redirect URL[^\n]{0,80}?: (https?://\S+)")
REFUSED = re.compile(r"status code (\d{3})\b")
HTTPS, OK, END_OF_STATUSES = 443, 200, 600
NO_CERTIFICATE = "WebFetch gets no page: there is no `openssl` here, which makes the certificate of the stand-ins."


class PagesPlan(msgspec.Struct, frozen=True):
    """What the box needs for the stand-ins; nothing if no page was fetched."""

    ports: list[int] = []
    hosts: list[str] = []
    note: str = ""
    """Why there are none, if pages were fetched."""


def stand_in_pages(session: Session, folder: Path) -> PagesPlan:
    """Write what the stand-ins need into a folder."""
    pages: dict[str, dict[str, int | str]] = {}
    hosts, ports = dict[str, None](), set[int]()
    for call in _fetches(session):
        address = _address(as_str(as_dict(call.input).get("url")) or "")
        if address is not None:
            host, port, path = address
            hosts[host] = None
            ports.add(port)
            pages[f"{host}:{port}{path}"] = _answer(call)
    if not pages:
        return PagesPlan()
    if not _certify(folder, hosts):
        return PagesPlan(note=NO_CERTIFICATE)
    shutil.copyfile(INSIDE / PAGES, folder / PAGES)
    (folder / "pages.json").write_bytes(jsontext.dumps(pages))
    return PagesPlan(sorted(ports), list(hosts))


def _fetches(session: Session) -> Iterator[Call]:
    for conversation in (session, *session.agents.values()):
        yield from (call for call in conversation.calls if call.name == FETCH)


def _address(url: str) -> tuple[str, int, str] | None:
    """Return the host, port and path of an address; None if nothing can stand in for it."""
    try:
        parts = urlsplit(url)
        port = parts.port or HTTPS
    except ValueError:
        return None
    if not HOST.fullmatch(parts.hostname or "") or port == PORT:
        return None
    return parts.hostname or "", port, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _answer(call: Call) -> dict[str, int | str]:
    data = as_dict(call.data)
    refused = REFUSED.search(call.tool_call.text)
    leads_to = LEADS_TO.search(as_str(data.get("result")) or "")
    status = as_int(data.get("code")) or (int(refused[1]) if refused else OK)
    return {"status": status if OK <= status < END_OF_STATUSES else OK, "location": leads_to[1] if leads_to else ""}


def _certify(folder: Path, hosts: Iterable[str]) -> bool:
    """Make a certificate for hosts; return whether that was possible."""
    program = shutil.which("openssl")
    if program is None:
        return False
    names = ",".join(f"{'IP' if ADDRESS.fullmatch(host) else 'DNS'}:{host}" for host in hosts)
    words = [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=reread"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / CERTIFICATE)]
    done = subprocess.run([*words, *files, "-addext", f"subjectAltName={names}"], capture_output=True, check=False)
    return not done.returncode
