"""Adopt runs of other agents: each becomes a session whose lines are its steps, as they were written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from reread.base import jsontext
from reread.base.coerce import as_dict, as_list, as_str
from reread.disk.filenames import AGENT_PREFIX, filename_for
from reread.disk.layout import PROJECTS, SUBAGENTS, default_store
from reread.errors import Misuse, NotFound, Unreadable, Unwritable
from reread.recording.rollouts import adopted_lines, is_rollout, rollout_files, root_session_id, session_id
from reread.records.dialects import codex
from reread.storage.atomic import write_atomic
from reread.storage.kept_file import open_regular, read_whole
from reread.storage.safe_open import PRIVATE_FILE, make_private_folder

SCHEMA = "ATIF-"
ELSEWHERE = ("steps", "subagent_trajectories")
"""The fields of a trajectory that have lines of their own."""
UNKNOWN = "unknown"


class AdoptedSession(NamedTuple):
    """A trajectory or rollout that is a session now."""

    id: str
    """The session's id."""
    path: Path
    """The session's file."""
    agents: int
    """How many agents it has."""
    steps: int
    """Steps of the trajectory, or lines of the rollout."""


def adopt(
    paths: str | Path | Sequence[str | Path], *, to: str | Path | None = None, unread: list[str] | None = None
) -> list[AdoptedSession]:
    """Write trajectories, and rollouts of the Codex CLI, as sessions below a folder, by default reread's own.

    A file has one trajectory, a list of them, one per line, or a rollout; a folder has rollouts. Raises Misuse, and
    writes nothing, if one of the files has none of these. Rollouts in a folder that cannot be read are added to
    `unread`. What was adopted before is written again.
    """
    unread = unread if unread is not None else []
    named = [paths] if isinstance(paths, str | Path) else paths
    found = [(path, value) for given in map(Path, named) for path, value in _find(given, unread)]
    folder = Path(to) if to is not None else default_store()
    rollouts = sorted({path for path, value in found if value is None}, key=lambda path: path.name)
    done = [
        _write(value, _session_id(value, path, n), folder) for n, (path, value) in enumerate(found) if value is not None
    ]
    return done + _joined(_write_rollout(path, folder) for path in rollouts)


def _find(path: Path, unread: list[str]) -> Iterator[tuple[Path, dict[str, Any] | None]]:
    """Yield the trajectories of a file; None stands for a rollout, which is read when it is written."""
    if path.is_dir():
        rollouts = rollout_files(path)
        if not rollouts:
            raise Misuse(f"No rollouts below {path}; pass the home of the Codex CLI, such as ~/.codex.")
        for rollout in rollouts:
            if _is_readable(rollout):
                yield rollout, None
            else:
                unread.append(str(rollout))
        return
    data = _read(path)
    if is_rollout(data):
        yield path, None
        return
    values = _values(data)
    for value in values:
        version = as_str(value.get("schema_version")) or ""
        if not version.startswith(SCHEMA) or not isinstance(value.get("steps"), list):
            raise Misuse(f"{path} is not a trajectory; a file in the ATIF format has a schema_version and steps.")
        yield path, value
    if not values:
        raise Misuse(f"{path} is not a trajectory; it is empty.")


def _read(path: Path) -> bytes:
    try:
        return read_whole(path)
    except FileNotFoundError as error:
        raise NotFound(f"No file {path}.", path=str(path)) from error
    except OSError as error:
        raise Unreadable.at(path, error) from error


def _is_readable(path: Path) -> bool:
    try:
        open_regular(path).close()
    except OSError:
        return False
    return True


def _values(data: bytes) -> list[dict[str, Any]]:
    try:
        whole: Any = jsontext.loads_clean(data)
        items = cast(list[Any], whole) if isinstance(whole, list) else [whole]
    except ValueError:
        items = [_line(line) for line in data.split(b"\n") if line.strip()]
    return [as_dict(item) for item in items]


def _line(line: bytes) -> Any:
    try:
        return jsontext.loads_clean(line)
    except ValueError:
        return None


def _session_id(trajectory: dict[str, Any], path: Path, number: int) -> str:
    given = as_str(trajectory.get("session_id")) or as_str(trajectory.get("trajectory_id"))
    return given or f"{path.stem}-{number + 1}"


def _write_rollout(path: Path, folder: Path) -> AdoptedSession:
    """Write a rollout; that of an agent beside its session, if that was adopted. Agents start after their session."""
    data = _read(path)
    id, above = session_id(data, path), root_session_id(data)
    file = _rollout_file(folder, id)
    root = _rollout_file(folder, above) if above is not None else None
    if above is None or root is None or not root.is_file():
        lines = list(adopted_lines(data, id))
        _save(file, lines)
        return AdoptedSession(id, file, 0, len(lines))
    lines = list(adopted_lines(data, above, id))
    _save(_agent_file(root, id), lines)
    return AdoptedSession(above, root, 1, len(lines))


def _rollout_file(folder: Path, id: str) -> Path:
    return folder / PROJECTS / codex.NAME / f"{filename_for(id)}.jsonl"


def _agent_file(session: Path, name: str) -> Path:
    return session.with_suffix("") / SUBAGENTS / f"{AGENT_PREFIX}{filename_for(name)}.jsonl"


def _joined(written: Iterable[AdoptedSession]) -> list[AdoptedSession]:
    """Return each session once, with its agents and the steps of all its rollouts."""
    found: dict[Path, AdoptedSession] = {}
    for one in written:
        known = found.get(one.path, one._replace(agents=0, steps=0))
        found[one.path] = known._replace(agents=known.agents + one.agents, steps=known.steps + one.steps)
    return list(found.values())


def _write(trajectory: dict[str, Any], id: str, folder: Path) -> AdoptedSession:
    agent = as_str(as_dict(trajectory.get("agent")).get("name")) or UNKNOWN
    path = folder / PROJECTS / filename_for(agent) / f"{filename_for(id)}.jsonl"
    title = as_str(as_dict(trajectory.get("extra")).get("title"))
    lines = list(_lines(trajectory, id, None))
    if title:
        lines.append({"type": "custom-title", "customTitle": title, "sessionId": id})
    agents = list(map(as_dict, as_list(trajectory.get("subagent_trajectories"))))
    _save(path, _encoded(lines))
    for n, inner in enumerate(agents, 1):
        name = as_str(inner.get("trajectory_id")) or str(n)
        _save(_agent_file(path, name), _encoded(_lines(inner, id, filename_for(name), trajectory)))
    return AdoptedSession(id, path, len(agents), len(as_list(trajectory["steps"])))


def _encoded(lines: Iterable[dict[str, Any]]) -> list[bytes]:
    return [jsontext.dumps(line) + b"\n" for line in lines]


def _save(path: Path, lines: list[bytes]) -> None:
    make_private_folder(path.parent)
    try:
        write_atomic(path, lines, mode=PRIVATE_FILE)
    except OSError as error:
        raise Unwritable.at(path, error) from error


def _lines(
    trajectory: dict[str, Any], session: str, name: str | None, above: dict[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the lines of a trajectory: what it says of itself, then each step with its tokens and what came of it."""
    agent = as_dict(trajectory.get("agent"))
    about = {
        "session": session,
        "trajectory": name,
        "agent": agent.get("name"),
        "version": agent.get("version"),
        "model": agent.get("model_name"),
        "project": as_dict((above or trajectory).get("extra")).get("project"),
    }
    about = {key: value for key, value in about.items() if isinstance(value, str)}
    yield {"atif": about, "trajectory": {key: value for key, value in trajectory.items() if key not in ELSEWHERE}}
    for step in map(as_dict, as_list(trajectory.get("steps"))):
        own = {key: value for key, value in step.items() if key not in ("observation", "metrics")}
        usage = {"usage": step["metrics"]} if step.get("metrics") else {}
        yield {"atif": about, "step": own, **usage}
        for observation in _observations(as_dict(step.get("observation"))):
            yield {"atif": about, "timestamp": step.get("timestamp"), "observation": observation}


def _observations(observation: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what was observed after a step; if several agents were started, each of its results by itself."""
    results = [as_dict(item) for item in as_list(observation.get("results"))]
    if sum(bool(result.get("subagent_trajectory_ref")) for result in results) < 2:
        return [observation] if observation else []
    return [{**observation, "results": [result]} for result in results]
