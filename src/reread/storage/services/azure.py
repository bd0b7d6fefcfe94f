"""Azure Blob Storage: a bucket is a container of an account."""

from __future__ import annotations

import errno
import os
import re
from typing import Any

from reread.errors import Misuse
from reread.storage.services.service import Service

ENDPOINT = "AZURE_STORAGE_ENDPOINT"
ACCOUNT = "AZURE_STORAGE_ACCOUNT"
KEY, TOKEN = "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN"
HOST = ".dfs.core.windows.net"


def _whole_name(bucket: str) -> str:
    """Return `CONTAINER@HOST`: the account may be left to the environment, and the end of its host left out."""
    container, _, host = bucket.partition("@")
    host = host or os.environ.get(ACCOUNT, "").strip()
    if not host:
        raise Misuse(f"No account for {container!r}; set {ACCOUNT}, or use abfs://CONTAINER@ACCOUNT/FOLDER.")
    return f"{container}@{host if '.' in host else host + HOST}"


def _connect(fs: Any, bucket: str) -> Any:
    if not hasattr(fs, "AzureFileSystem"):
        raise Misuse("This pyarrow cannot read Azure; install its wheel for another system.")
    account, _, rest = bucket.partition("@")[2].partition(".")
    options: dict[str, Any] = {"account_name": account}
    for option, variable in (("account_key", KEY), ("sas_token", TOKEN)):
        if os.environ.get(variable, "").strip():
            options[option] = os.environ[variable].strip()
            break  # pyarrow takes one of them
    endpoint = os.environ.get(ENDPOINT, "").strip()
    if endpoint:
        scheme, _, address = endpoint.rpartition("://")
        blobs = files = address.rstrip("/")
        options |= {"blob_storage_scheme": scheme or "https", "dfs_storage_scheme": scheme or "https"}
    else:
        files = f".{rest}"
        blobs = files.replace(".dfs.", ".blob.", 1)
    return fs.AzureFileSystem(**options, blob_storage_authority=blobs, dfs_storage_authority=files)


AZURE = Service(
    schemes=("abfs", "abfss", "az"),
    bucket=re.compile(r"[a-z0-9$][a-z0-9\-]{2,62}(?:@[a-z0-9][a-z0-9.\-]{2,200})?"),
    example="abfs://CONTAINER@ACCOUNT",
    connect=_connect,
    endpoint=ENDPOINT,
    variables=(ACCOUNT, ENDPOINT),
    failures=(
        (("ContainerNotFound",), errno.ENOENT, "there is no such container; create it, or check the address"),
        (
            ("AuthenticationFailed", "AuthorizationFailure", "Permission", "Credential", " 401 ", " 403 "),
            errno.EACCES,
            f"access denied; set {KEY} or {TOKEN}, or run `az login`, and check what they may do",
        ),
        (
            ("Fail to get a new connection", "resolve host", "CURL"),
            errno.ECONNREFUSED,
            f"no connection; check the network, the account and {ENDPOINT}",
        ),
    ),
    whole_name=_whole_name,
    puts_whole=False,
)
