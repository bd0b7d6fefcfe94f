"""The commits and pull requests that a session made, as its transcript states them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from reread.base.choices import DONE
from reread.base.coerce import as_dict, as_int, as_str
from reread.base.late_pattern import late_pattern
from reread.model.conversation import Agent, Call, Conversation, Message
from reread.tools import tool_for
from reread.tools.outcome import content_text

LONGEST_OUTPUT = 1 << 20
"""How much of a program's output is searched."""
LONGEST_SUBJECT = 200
_COMMIT = late_pattern(r"^\[([^\s\]]{1,255})(?: \(root-commit\))? ([0-9a-f]{7,40})\] ([^\n]*)", re.MULTILINE)
"""The output of `git commit`: `[main 1a2b3c4] Subject`."""
_LOGGED = late_pattern(r"^([0-9a-f]{7,40})(?: ([^\n]*))?$", re.MULTILINE)
"""The output of `git log --oneline` and `git rev-parse`."""
_SHOWS_HEAD = late_pattern(r"\bgit (?:log\b[^\n;&|]{0,80} -1\b|rev-parse\b[^\n;&|]{0,40} HEAD\b)")
"""A command that shows the newest commit."""
_PULL = late_pattern(r"^https://([^\s/]{1,255}/[^\s/]{1,255}/[^\s/]{1,255})/pull/(\d{1,9})\s*$", re.MULTILINE)
"""The output of `gh pr create`."""


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit that a call made."""

    sha: str
    """As far as the transcript states it: often the first seven digits."""
    subject: str | None = None
    branch: str | None = None
    call: Call
    """The call that made it."""

    @property
    def time(self) -> datetime | None:
        """When it was made."""
        return self.call.ended


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request that a session created, changed or was linked to."""

    number: int
    url: str | None = None
    repository: str | None = None
    """Owner and name."""
    action: str | None = None
    """The action on it: created, merged, commented …; None if it was only linked."""
    call: Call | None = None
    """The call that did it; None if the client linked the session to it."""

    @property
    def key(self) -> tuple[str | None, int]:
        """The values that tell it from others: its repository and its number."""
        return self.repository, self.number


class GitOperations(msgspec.Struct, frozen=True, kw_only=True):
    """The commits and pull requests of one turn."""

    commits: list[Commit] = []
    pull_requests: list[PullRequest] = []

    def __bool__(self) -> bool:
        return bool(self.commits or self.pull_requests)


class GitOperationsByTurn:
    """Finds the commits and pull requests of each turn of a conversation.

    Those of all agents belong to the main thread's turns; in an agent's own turns are those that it made itself.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._links_read = self._calls_read = 0
        self._links: dict[tuple[str | None, int], int] = {}
        """The first `pr-link` record of each pull request."""
        self._stated: set[tuple[str | None, int]] = set()
        """The pull requests that calls state, if it was asked for a turn with links."""

    def of_turn(self, messages: Sequence[Message]) -> GitOperations:
        """Return what was done in a turn with these messages."""
        calls = self._all_calls(call for message in messages for call in message.calls)
        pulls = [*find_pull_requests(calls, ()), *self._linked(messages)]
        return GitOperations(commits=find_commits(calls), pull_requests=pulls)

    def _all_calls(self, calls: Iterable[Call]) -> list[Call]:
        return list(calls if isinstance(self._conversation, Agent) else calls_with_agents(calls))

    def _linked(self, messages: Sequence[Message]) -> list[PullRequest]:
        """Return the pull requests that were first linked in a turn and that no call states."""
        conversation = self._conversation
        indices = conversation.metadata.pr_links
        if not messages or not indices:
            return []
        following = messages[-1].index + 1
        end = conversation.messages[following].records[0] if following < len(conversation.messages) else 1 << 62
        inside = indices[bisect_left(indices, messages[0].records[0]) : bisect_left(indices, end)]
        if not inside:
            return []
        self._read_new()
        links = find_pull_requests((), (conversation.records[index].native for index in inside))
        first = {key for key, index in self._links.items() if index in inside}
        return [pull for pull in links if pull.key in first and pull.key not in self._stated]

    def _read_new(self) -> None:
        """Read the links and calls that were added since the last time."""
        conversation = self._conversation
        indices, calls = conversation.metadata.pr_links, conversation.calls
        for index in indices[self._links_read :]:
            for pull in find_pull_requests((), [conversation.records[index].native]):
                self._links.setdefault(pull.key, index)
        new = find_pull_requests(self._all_calls(calls[self._calls_read :]), ())
        self._stated |= {pull.key for pull in new}
        self._links_read, self._calls_read = len(indices), len(calls)


def calls_with_agents(calls: Iterable[Call]) -> Iterator[Call]:
    """Yield each call, and after it those of the agents that it started, however deeply nested."""
    seen: set[Agent] = set()
    left = [iter(calls)]
    while left:
        call = next(left[-1], None)
        if call is None:
            left.pop()
            continue
        yield call
        for agent in call.agents:
            if agent not in seen:
                seen.add(agent)
                left.append(iter(agent.calls))


def find_commits(calls: Iterable[Call]) -> list[Commit]:
    """Return the commits that calls made, in order, each once."""
    found: dict[str, Commit] = {}
    for call in _commands(calls):
        for commit in _call_commits(call):
            found.setdefault(commit.sha[:7], commit)
    return list(found.values())


def find_pull_requests(calls: Iterable[Call], links: Iterable[Any]) -> list[PullRequest]:
    """Return the pull requests of calls, then those that `pr-link` records add."""
    found: dict[tuple[str | None, int], PullRequest] = {}
    for call in _commands(calls):
        for pull in _call_pull_requests(call):
            found.setdefault(pull.key, pull)
    for link in map(as_dict, links):
        number = as_int(link.get("prNumber"))
        if number is not None:
            repository = as_str(link.get("prRepository"))
            pull = PullRequest(number=number, url=as_str(link.get("prUrl")), repository=repository)
            found.setdefault(pull.key, pull)
    return list(found.values())


def _commands(calls: Iterable[Call]) -> Iterator[Call]:
    """Yield the calls that ran a command which names git or its host's program."""
    for call in calls:
        if tool_for(call.name).category == "run" and any(word in _command(call) for word in ("git", "gh ")):
            yield call


def _call_commits(call: Call) -> Iterator[Commit]:
    """Yield what git printed, else what the client noted."""
    noted = as_dict(_noted(call).get("commit"))
    sha = as_str(noted.get("sha"))
    printed = [found.groups() for found in _COMMIT.finditer(_output(call))] if _may_commit(call, sha) else []
    if not printed and call.state == DONE and _SHOWS_HEAD.search(_command(call).partition("git commit")[2]):
        printed = [(None, *found.groups()) for found in _LOGGED.finditer(_output(call))][:1]
    for branch, short, subject in printed:
        is_noted = sha is not None and sha.startswith(short)
        subject = subject[:LONGEST_SUBJECT] if subject else None
        yield Commit(sha=sha if is_noted and sha else short, subject=subject, branch=branch, call=call)
    if sha and not any(sha.startswith(short) for _, short, _ in printed):
        yield Commit(sha=sha, call=call)


def _may_commit(call: Call, sha: str | None) -> bool:
    return sha is not None or any(word in _command(call) for word in ("commit", "merge", "cherry-pick", "revert"))


def _call_pull_requests(call: Call) -> Iterator[PullRequest]:
    noted = as_dict(_noted(call).get("pr"))
    number = as_int(noted.get("number"))
    if number is not None:
        url = as_str(noted.get("url"))
        repository = _repository(url)
        yield PullRequest(number=number, url=url, repository=repository, action=as_str(noted.get("action")), call=call)
    elif "gh pr create" in _command(call):
        for found in _PULL.finditer(_output(call)):
            url = found[0].strip()
            yield PullRequest(number=int(found[2]), url=url, repository=_repository(url), action="created", call=call)


def _repository(url: str | None) -> str | None:
    """Return owner and name of the repository in the address of a pull request."""
    found = _PULL.match(url) if url is not None else None
    return found[1].partition("/")[2] if found else None


def _command(call: Call) -> str:
    return as_str(as_dict(call.input).get("command")) or ""


def _noted(call: Call) -> dict[str, Any]:
    """Return what the client noted of git in a call's result."""
    return as_dict(as_dict(call.data).get("gitOperation"))


def _output(call: Call) -> str:
    data = as_dict(call.data)
    printed = as_str(data.get("stdout"))
    text = printed if printed is not None else content_text(getattr(call.result, "content", None))
    return text[:LONGEST_OUTPUT]
