"""A service that has buckets, as far as reread has to know it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 60.0
"""How long a server may say nothing before a request is given up."""
ATTEMPTS = 3
"""How often a request is tried."""

Failure = tuple[tuple[str, ...], int, str]
"""The text of an error of the service, its number, and the advice."""


class Service(NamedTuple):
    """How the buckets of a service are named and reached."""

    schemes: tuple[str, ...]
    """How addresses begin; the first is how reread writes them."""
    bucket: re.Pattern[str]
    """The part of an address that is the bucket."""
    example: str
    """The address of a bucket, for messages."""
    connect: Callable[[Any, str], Any]
    """Return pyarrow's file system for a bucket; the first argument is the module `pyarrow.fs`."""
    endpoint: str
    """The variable that names another server that speaks like the service."""
    variables: tuple[str, ...]
    """The variables that a timer passes on; none of them is a secret."""
    failures: tuple[Failure, ...]
    whole_name: Callable[[str], str] = str
    """Return the bucket of an address with what it leaves to the environment."""
    puts_whole: bool = True
    """False if an object is there, and empty, while its bytes are still being sent."""
    lists_folders: bool = True
    """False if pyarrow cannot list the folders in a folder."""
