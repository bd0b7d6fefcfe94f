"""Sessions in a bucket on a real server: the same as in a folder, and by several machines at once."""

import json
import os
import random
import signal
import sys
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from bucket import Bucket, run, start
from test_kept_bucket import *  # noqa: F403
from test_kept_bucket import errors, first, tree

import reread
from reread.archive.verify import KeptEntry
from reread.errors import Unreadable, Unwritable
from reread.storage import bucket_mirror as mirror
from reread.storage.bucket import BucketStore


@pytest.fixture(autouse=True)
def fresh_mirrors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the bucket each time; the ten seconds that a mirror is taken as it is are too long for a test."""
    monkeypatch.setattr(mirror, "FRESH_SECONDS", 0.0)


def test_every_verb_reads_from_a_bucket_what_it_reads_from_the_folder(bucket: Bucket) -> None:
    report = reread.keep(to=bucket.url)
    assert report.count("new") == len(report.files) > 10 and not report.problems
    assert reread.keep(to=bucket.url).count("unchanged") == len(report.files)
    here, there = str(bucket.sources), bucket.url
    for verb in ("usage --json", "stats --json", "ls --json", "search --json ceiling", "check --json"):
        local, remote = (json.loads(run("--root", root, *verb.split())) for root in (here, there))
        assert _plain(remote) == _plain(local), verb
    for session in reread.sessions(root=here):
        ours, theirs = (json.loads(run("--root", root, "show", "-f", "json", session.id)) for root in (here, there))
        assert _plain(ours) == _plain(theirs), session.id


def _plain(value: object) -> object:
    """Return a value of JSON without what differs between a file and its copy."""
    if isinstance(value, dict):
        skipped = ("path", "file", "kept", "kept_as", "link", "command", "modified")
        return {name: _plain(inner) for name, inner in value.items() if name not in skipped}
    if isinstance(value, list):
        return sorted((_plain(inner) for inner in value), key=repr)
    return value.rsplit("/", 1)[-1] if isinstance(value, str) else value


def test_a_killed_upload_leaves_nothing_half(bucket: Bucket) -> None:
    chance = random.Random(3)
    for number in range(int(os.environ.get("REREAD_KILLS", "6"))):
        project = bucket.sources / "projects" / f"-kill{number}"
        project.mkdir()
        for name in range(8):
            (project / f"s{name}.jsonl").write_bytes(first(bucket.sources).read_bytes() * (name + 1))
        process = start("keep", "-q", "--to", bucket.url)
        time.sleep(0.5 + chance.random() * 2)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert errors(bucket.url) == []
    assert reread.keep(to=bucket.url).problems == []
    assert errors(bucket.url) == []
    assert sum(isinstance(one, KeptEntry) for one in reread.Archive(bucket.url).verify()) == len(tree(bucket.sources))


def test_two_machines_write_while_a_third_reads(bucket: Bucket, tmp_path: Path) -> None:
    writers = [
        start("keep", "-q", "--to", bucket.url, REREAD_MACHINE=name, REREAD_CACHE=str(tmp_path / name))
        for name in ("ann", "bob")
    ]
    seen: list[int] = []
    while any(writer.poll() is None for writer in writers):
        seen.append(len(list(reread.sessions(root=bucket.url))))
    for writer in writers:
        assert writer.wait() == 0, writer.communicate()
        writer.communicate()
    sessions = list(reread.sessions(root=bucket.url))
    count = len(list(reread.sessions(root=bucket.sources)))
    assert seen == sorted(seen) and len(sessions) == 2 * count
    by_machine: dict[str, set[str]] = defaultdict(set)
    for session in sessions:
        by_machine[Path(session.path).parents[2].name].add(session.id)
    assert by_machine["ann"] == by_machine["bob"] and len(by_machine["ann"]) == count
    assert len(list(reread.sessions(root=f"{bucket.url}/machines/ann"))) == count
    assert reread.usage(root=bucket.url).totals == reread.usage(root=bucket.sources).totals  # each response counts once
    objects = len(bucket.objects())
    run("keep", "-q", "--to", bucket.url, REREAD_MACHINE="ann", REREAD_CACHE=str(tmp_path / "new"))
    assert len(bucket.objects()) == objects, "a machine that lost its cache puts nothing twice"
    assert errors(bucket.url) == []
    reread.Archive(bucket.url).restore(to=tmp_path / "restored")
    for name in ("ann", "bob"):
        assert tree(tmp_path / "restored" / name) == tree(bucket.sources)


def test_two_machines_with_one_name_lose_nothing(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "other" / "projects" / "-p").mkdir(parents=True)
    (tmp_path / "other" / "projects" / "-p" / "x.jsonl").write_bytes(first(bucket.sources).read_bytes())
    other = {"REREAD_CACHE": str(tmp_path / "there"), "CLAUDE_CONFIG_DIR": str(tmp_path / "other")}
    writers = [start("keep", "-q", "--to", bucket.url), start("keep", "-q", "--to", bucket.url, **other)]
    for writer in writers:
        assert writer.wait(timeout=120) == 0, writer.communicate()
        writer.communicate()
    run("keep", "-q", "--to", bucket.url, **other)
    run("keep", "-q", "--to", bucket.url)
    assert len(list(reread.sessions(root=bucket.url))) == len(list(reread.sessions(root=bucket.sources))) + 1
    assert errors(bucket.url) == []


def test_the_reader_serves_a_bucket(bucket: Bucket) -> None:
    import urllib.request

    reread.keep(to=bucket.url)
    before = bucket.objects()
    with start("serve", "--root", bucket.url, "--port", "0", "--no-open") as server:
        try:
            assert server.stdout is not None
            line = next(line.decode() for line in server.stdout if b"http://" in line)
            address = line[line.index("http://") :].split()[0]
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            browser.open(address, timeout=150).close()
            with browser.open(f"{address.partition('?')[0].rstrip('/')}/api/library", timeout=150) as answer:
                listing = answer.read().decode()
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=150)
    assert "Make the time axis readable" in listing
    assert bucket.objects() == before


def test_a_server_that_takes_its_time_is_waited_for(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            time.sleep(4)  # longer than pyarrow waits by itself
            self.send_response(200)
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        BucketStore("s3://slow-bucket/x").require()
        server.shutdown()


def test_what_is_wrong_is_said(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unwritable, match="no such bucket"):
        reread.keep(to="s3://nobody-has-this-bucket/x")
    with pytest.raises(Unreadable, match="no such bucket"):
        list(reread.sessions(root="s3://nobody-has-this-bucket/x"))
    assert list(reread.sessions(root=bucket.url)) == []
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "no connection; check the network" in run("ls", "--root", bucket.url, code=2)
    code = "import sys; sys.modules['pyarrow'] = None; import reread; reread.keep(to='s3://x-y-z')"
    monkeypatch.setattr(sys, "argv", ["x"])
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=150, check=False)
    assert "pip install 'reread[tables]'" in done.stderr
