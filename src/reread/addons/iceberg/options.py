"""What `reread tables` takes for a catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from reread.cli._options import refuse_without
from reread.cli._paths import PathName


def extend_tables(command: click.Command) -> None:
    """Let `reread tables` commit to a catalogue."""
    inner = command.callback
    assert inner is not None

    @click.pass_context
    def tables(
        ctx: click.Context,
        iceberg: str | None,
        warehouse: str | None,
        taken: Mapping[str, Any] = {},
        **options: Any,
    ) -> None:
        refuse_without(ctx, "--warehouse", "--iceberg", "it is for the files of its tables")
        if iceberg is not None:
            taken = {**taken, "iceberg": iceberg, "warehouse": warehouse}
        inner(taken=taken, **options)

    command.callback = tables
    command.params += [
        click.Option(
            ["--iceberg"], metavar="CATALOG", help="Commit what changed to this Iceberg catalogue: its name or address."
        ),
        click.Option(
            ["--warehouse"],
            type=PathName(written=True, bucket=True),
            metavar="DIR",
            help="The folder or bucket for the files of new Iceberg tables.",
        ),
    ]
