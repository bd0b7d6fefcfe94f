"""The review of a commit that a session made: the turns behind its lines."""

from __future__ import annotations

from collections.abc import Mapping

from reread.attribution.review_values import Review
from reread.attribution.reviewing import find_review
from reread.base.paths import is_local
from reread.errors import Misuse, NotFound
from reread.git.repository import is_sha
from reread.reader.redacted_review import with_short_prompts
from reread.server.library import SessionLibrary
from reread.session.session import open as open_session


def library_review(library: SessionLibrary, key: str, query: Mapping[str, str]) -> Review:
    """Return the review of the parameter `commit`, in the repository of the folder that a session worked in."""
    commit = query.get("commit", "")
    if not is_sha(commit):
        raise Misuse("Name a commit by its hash, in the parameter `commit`.")
    project = open_session(library.find(key)).project
    if not is_local(project):
        raise NotFound("The folder of this session is not on this machine.")
    return with_short_prompts(find_review(commits=[commit], repository=project, root=library.roots))
