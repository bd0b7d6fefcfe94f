"""Parts left out of a shared session unless they are asked for: pictures, signatures, ids of accounts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec

ACCOUNT_KEYS = frozenset(
    """organizationUuid organization_uuid organizationId organization_id orgUuid org_uuid orgId org_id accountUuid
    account_uuid accountId account_id userID userId user_id customerId deviceId device_id machineId machine_id
    stableID anonymousId organizationName organization_name""".split()
)
"""Keys of what identifies an account or a machine."""
SIGNATURE_KEYS = frozenset(("signature", "thinkingSignature", "encrypted_content", "encrypted_index"))
DATA_KEYS = frozenset(("data", "base64", "blob", "bytes"))
SHORTEST_DATA = 64
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{64}")
_MEDIA_KEYS = ("media_type", "mediaType", "mimeType", "mime_type", "type", "originalType")


class Omission(msgspec.Struct):
    """How much was left out."""

    images: int = 0
    signatures: int = 0
    ids: int = 0


def leave_out(value: Any, omitted: Omission, *, images: bool = False) -> None:
    """Empty what is not shared in a record; with `images`, pictures are kept."""
    for container in _objects(value):
        is_media = None
        for key, item in container.items():
            if not isinstance(item, str) or not item:
                continue
            if key in SIGNATURE_KEYS:
                container[key] = ""
                omitted.signatures += 1
            elif key in ACCOUNT_KEYS:
                container[key] = ""
                omitted.ids += 1
            elif key in DATA_KEYS and len(item) >= SHORTEST_DATA and _BASE64.match(item):
                is_media = _is_media(container) if is_media is None else is_media
                if is_media and not (images and _is_image(container)):
                    container[key] = ""
                    omitted.images += 1


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield cast(dict[str, Any], node)
            stack += (item for item in cast(dict[str, Any], node).values() if isinstance(item, dict | list))
        elif isinstance(node, list):
            stack += (item for item in cast(list[Any], node) if isinstance(item, dict | list))


def _is_media(container: dict[str, Any]) -> bool:
    return container.get("type") == "base64" or any("/" in str(container.get(name, "")) for name in _MEDIA_KEYS)


def _is_image(container: dict[str, Any]) -> bool:
    return any(str(container.get(name, "")).startswith("image/") for name in _MEDIA_KEYS)
