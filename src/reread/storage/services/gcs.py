"""Google Cloud Storage."""

from __future__ import annotations

import errno
import os
import re
from typing import Any

from reread.errors import Misuse
from reread.storage.services.service import Service

ENDPOINT = "STORAGE_EMULATOR_HOST"
CREDENTIALS = "GOOGLE_APPLICATION_CREDENTIALS"
RETRY_SECONDS = 15.0


def _connect(fs: Any, bucket: str) -> Any:
    if not hasattr(fs, "GcsFileSystem"):
        raise Misuse("This pyarrow cannot read Google Cloud Storage; install its wheel for another system.")
    from datetime import timedelta

    options: dict[str, Any] = {"retry_time_limit": timedelta(seconds=RETRY_SECONDS)}
    endpoint = os.environ.get(ENDPOINT, "").strip()
    if endpoint:
        scheme, _, address = endpoint.rpartition("://")
        options |= {"anonymous": True, "endpoint_override": address.rstrip("/"), "scheme": scheme or "http"}
    return fs.GcsFileSystem(**options)


GCS = Service(
    schemes=("gs", "gcs"),
    bucket=re.compile(r"[a-z0-9][a-z0-9._\-]{1,220}"),
    example="gs://BUCKET",
    connect=_connect,
    endpoint=ENDPOINT,
    variables=(CREDENTIALS, ENDPOINT),
    failures=(
        (
            ("PERMISSION_DENIED", "UNAUTHENTICATED", "credential", "status code: 401", "status code: 403"),
            errno.EACCES,
            f"access denied; run `gcloud auth application-default login` or set {CREDENTIALS}, and check its roles",
        ),
        (("UNAVAILABLE", "CURL", "curl"), errno.ECONNREFUSED, f"no connection; check the network and {ENDPOINT}"),
    ),
    lists_folders=False,
)
