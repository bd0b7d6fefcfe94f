"""Amazon S3, and the many servers that speak like it."""

from __future__ import annotations

import errno
import os
import re
from typing import Any

from reread.errors import Misuse
from reread.storage.services.service import ANSWER_SECONDS, ATTEMPTS, CONNECT_SECONDS, Service

ENDPOINT = "AWS_ENDPOINT_URL"


def _connect(fs: Any, bucket: str) -> Any:
    if not hasattr(fs, "S3FileSystem"):
        raise Misuse("This pyarrow cannot read S3; install the wheel: `pip install --force-reinstall pyarrow`.")
    options: dict[str, Any] = {}
    endpoint = os.environ.get(ENDPOINT, "").strip()
    if endpoint:
        scheme, _, address = endpoint.rpartition("://")
        options = {"endpoint_override": address.rstrip("/"), "scheme": scheme or "https"}
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region or endpoint:
        options["region"] = region or "us-east-1"
    else:
        options["region"] = fs.resolve_s3_region(bucket)
    retries = fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS)
    return fs.S3FileSystem(
        **options,
        connect_timeout=CONNECT_SECONDS,
        request_timeout=ANSWER_SECONDS,
        retry_strategy=retries,
        background_writes=False,
    )


S3 = Service(
    schemes=("s3", "s3a"),
    bucket=re.compile(r"[a-z0-9][a-z0-9.\-]{1,254}"),
    example="s3://BUCKET",
    connect=_connect,
    endpoint=ENDPOINT,
    variables=("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", ENDPOINT),
    failures=(
        (("NO_SUCH_BUCKET", "NoSuchBucket"), errno.ENOENT, "there is no such bucket; create it, or check the address"),
        (
            ("ACCESS_DENIED", "InvalidAccessKeyId", "INVALID_ACCESS_KEY_ID", "SIGNATURE", "UNRECOGNIZED_CLIENT", "403"),
            errno.EACCES,
            "access denied; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, and check what they may do",
        ),
        (("NETWORK_CONNECTION", "curlCode"), errno.ECONNREFUSED, f"no connection; check the network and {ENDPOINT}"),
    ),
)
