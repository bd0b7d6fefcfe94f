"""What tests do with a bucket."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


class Bucket:
    """A bucket, and the folder of Claude Code that is kept in it."""

    def __init__(self, client: Any, name: str, sources: Path) -> None:
        self.client, self.name, self.sources = client, name, sources
        self.url = f"s3://{name}/sessions"

    def keys(self, below: str = "") -> list[str]:
        """Return the names of all objects that begin like this."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=f"sessions/{below}")
        return sorted(found["Key"] for page in pages for found in page.get("Contents", ()))

    def objects(self, below: str = "") -> dict[str, bytes]:
        """Return all objects whose names begin like this."""
        keys = self.keys(below)
        return {key: self.client.get_object(Bucket=self.name, Key=key)["Body"].read() for key in keys}

    def put(self, key: str, data: bytes) -> None:
        """Put an object."""
        self.client.put_object(Bucket=self.name, Key=key, Body=data)

    def delete(self, key: str) -> None:
        """Delete an object."""
        self.client.delete_object(Bucket=self.name, Key=key)


def start(*arguments: str, **variables: str) -> subprocess.Popen[bytes]:
    """Start `reread` with other variables."""
    command = [sys.executable, "-m", "reread", *arguments]
    return subprocess.Popen(
        command, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def run(*arguments: str, code: int = 0, **variables: str) -> str:
    """Run `reread` and return what it printed; fail unless it ends with this code."""
    with start(*arguments, **variables) as process:
        out, errors = process.communicate(timeout=300)
    assert process.returncode == code, (arguments, out.decode(), errors.decode())
    return out.decode() + errors.decode()
