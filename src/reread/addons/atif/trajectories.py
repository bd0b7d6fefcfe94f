"""Trajectories in the ATIF format: each step becomes a line, with what the trajectory says of itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from reread.base import jsontext
from reread.base.coerce import as_dict, as_list, as_str
from reread.disk.filenames import filename_for
from reread.recording.adoption import IsAdopted, Run, read_run

ABOUT = "a trajectory in the ATIF format (with a schema_version and steps), or a list of them"
SCHEMA = "ATIF-"
ELSEWHERE = ("steps", "subagent_trajectories")
"""The fields of a trajectory that have lines of their own."""
UNKNOWN = "unknown"


def files(folder: Path) -> list[Path]:
    """Return nothing: the name of a file does not tell that it has a trajectory."""
    return []


def recognises(data: bytes) -> bool:
    """True if a file has trajectories, and nothing else."""
    values = _values(data)
    return bool(values) and all(map(_is_trajectory, values))


def runs(paths: Sequence[Path], is_adopted: IsAdopted) -> Iterator[Run]:
    """Yield the trajectories of some files."""
    found = [(path, value) for path in paths for value in _values(read_run(path))]
    for number, (path, trajectory) in enumerate(found, 1):
        yield _run(trajectory, _session_id(trajectory) or f"{path.stem}-{number}")


def _is_trajectory(value: dict[str, Any]) -> bool:
    version = as_str(value.get("schema_version")) or ""
    return version.startswith(SCHEMA) and isinstance(value.get("steps"), list)


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


def _session_id(trajectory: dict[str, Any]) -> str | None:
    return as_str(trajectory.get("session_id")) or as_str(trajectory.get("trajectory_id"))


def _run(trajectory: dict[str, Any], id: str) -> Run:
    program = as_str(as_dict(trajectory.get("agent")).get("name")) or UNKNOWN
    title = as_str(as_dict(trajectory.get("extra")).get("title"))
    lines = list(_lines(trajectory, id, None))
    if title:
        lines.append({"type": "custom-title", "customTitle": title, "sessionId": id})
    agents: dict[str, list[bytes]] = {}
    for n, inner in enumerate(map(as_dict, as_list(trajectory.get("subagent_trajectories"))), 1):
        name = as_str(inner.get("trajectory_id")) or str(n)
        agents[name] = _encoded(_lines(inner, id, filename_for(name), trajectory))
    return Run(program, id, _encoded(lines), len(as_list(trajectory["steps"])), agents)


def _encoded(lines: Iterable[dict[str, Any]]) -> list[bytes]:
    return [jsontext.dumps(line) + b"\n" for line in lines]


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
