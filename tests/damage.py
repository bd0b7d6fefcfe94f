"""Damage files that this process may have mapped."""

from pathlib import Path


def replace_bytes(path: Path, data: bytes) -> None:
    """Give a file other bytes. Cutting it short in place would end a process that still reads it with a bus error."""
    other = path.with_name(f"{path.name}.other")
    other.write_bytes(data)
    other.replace(path)
