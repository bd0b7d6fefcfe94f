"""The search index that a test has made, of whatever folder."""

from pathlib import Path

from reread.index import store


def index_folder() -> Path:
    """Return the folder of the only index."""
    names = {path.stem for path in store.indexes_folder().iterdir()}
    (name,) = names
    return store.index_folder(name)


def open_reader() -> store.IndexReader | None:
    """Open the only index."""
    return store.open_reader(index_folder().name)
