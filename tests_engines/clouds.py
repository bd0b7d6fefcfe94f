"""Servers that speak like Google Cloud Storage and Azure, each with an empty bucket."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

AZURITE = Path(os.environ.get("REREAD_AZURITE", Path(__file__).parents[1] / "build" / "azurite"))
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's own, which everybody knows."""


@contextmanager
def google() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the address of a bucket, and the variables that lead to it."""
    port = _free_port()
    command = [sys.executable, "-m", "gcp_storage_emulator", "start", "--in-memory", "--default-bucket", "team"]
    with _running([*command, "--host", "127.0.0.1", "--port", str(port)], port):
        yield "gs://team/sessions", {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"}


@contextmanager
def azure() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the address of a container, and the variables that lead to it."""
    import pyarrow.fs

    port = _free_port()
    main = AZURITE / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    command = ["node", str(main), "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"]
    with _running([*command, "--blobPort", str(port)], port):
        server = f"127.0.0.1:{port}"
        options = {f"{kind}_storage_{part}": value for kind in ("blob", "dfs") for part, value in _parts(server)}
        pyarrow.fs.AzureFileSystem(account_name=ACCOUNT, account_key=KEY, **options).create_dir("team")
        variables = {"AZURE_STORAGE_ACCOUNT": ACCOUNT, "AZURE_STORAGE_KEY": KEY}
        yield "az://team/sessions", variables | {"AZURE_STORAGE_ENDPOINT": f"http://{server}"}


def missing(name: str) -> str:
    """Return what is not installed for a server; empty if it can be started."""
    if name == "google":
        try:
            import gcp_storage_emulator  # noqa: F401  # pyright: ignore[reportMissingImports]
        except ImportError:
            return "gcp-storage-emulator is not installed"
        return ""
    is_there = shutil.which("node") and (AZURITE / "node_modules" / "azurite").is_dir()
    return "" if is_there else f"Azurite is not installed in {AZURITE}"


def _parts(server: str) -> tuple[tuple[str, str], ...]:
    return ("authority", server), ("scheme", "http")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + 60
            while time.monotonic() < end and process.poll() is None:
                with socket.socket() as tried:
                    if tried.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield
        finally:
            process.kill()
