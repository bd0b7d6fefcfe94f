"""The search index that a test has made, of whatever folder."""

from pathlib import Path

from reread.index import store


def index_folder() -> Path:
    """Return the folder of the only index, also of one that is being made anew: its lock stays."""
    folder = store.indexes_folder()
    (name,) = {path.stem.removeprefix(f"{folder.name}-") for path in folder.parent.glob(f"{folder.name}-*.lock")}
    return store.index_folder(name)


def open_reader() -> store.IndexReader | None:
    """Open the only index."""
    return store.open_reader(index_folder().name)
