"""A record of the early format, as its specification defines it."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from reread.records.blocks import Name, Needed, Number
from reread.records.types.api import Response


class EarlyRecord(Struct, frozen=True, kw_only=True):
    """A message of the early format; other fields are not specified."""

    uuid: Name | None = None
    parentUuid: Annotated[str, Meta(extra={"needed": "key"})] | None = None
    sessionId: Name | None = None
    type: Name | None = None
    timestamp: Needed[Number] | None = None
    """Milliseconds since 1970."""
    version: str | None = None
    message: Needed[Response] | None = None
    isSidechain: bool | None = None
    userType: str | None = None
    isMeta: bool | None = None
    isError: bool | None = None
    isDeleted: bool | None = None
    isAborted: bool | None = None
    compactMetadata: dict[str, Any] | None = None
    subtype: str | None = None
    is_active: bool | None = None
