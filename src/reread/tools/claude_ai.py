"""What lives on claude.ai: published pages, the project's knowledge, and designs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.coerce import as_dict, as_list
from reread.tools import _draw
from reread.tools._values import answer, count, each, first, grouped, held, line, number, size, span_ms, words, yes
from reread.tools.nodes import Code, Data, Node, Note, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, ToolCall

ASIDES = (
    "watch",
    "unwatch",
    "watches",
    "arms",
    "written",
    "asset_upload",
    "asset_uploads",
    "asset_list",
    "asset_read",
    "asset_delete",
    "pin",
    "stored",
    "capabilities",
)
"""Parts of an artifact's result that are drawn as trees."""


class ArtifactInput(Struct, kw_only=True):
    """What is done with which page."""

    action: str | None = None
    file_path: str | None = None
    file_paths: list[str] | None = None
    title: str | None = None
    description: str | None = None
    label: str | None = None
    url: str | None = None
    prompt: str | None = None
    favicon: str | None = None
    icon: str | None = None
    scope: str | None = None
    force: bool | None = None
    asset_id: str | None = None
    capabilities: dict[str, Any] | None = None
    contract: str | None = None


class Page(Struct, kw_only=True):
    """A published page in a list."""

    title: str | None = None
    url: str = ""
    updatedAt: str | None = None
    rel: str | None = None
    role: str | None = None


class Reading(Struct, kw_only=True):
    """What a page says."""

    url: str = ""
    title: str | None = None
    code: int | None = None
    codeText: str | None = None
    bytes: int | None = None
    result: str | None = None
    durationMs: float | None = None


class ArtifactOutput(Struct, kw_only=True):
    """What came of it: a page published, pages as_list, or one read."""

    url: str | None = None
    path: str | None = None
    artifact_id: str | None = None
    title: str | None = None
    version: str | None = None
    updated: bool | None = None
    unchanged: bool | None = None
    audience: str | None = None
    contract: str | None = None
    icon: str | None = None
    liveSubscription: str | None = None
    publishesRemaining: int | None = None
    warnings: list[str] | None = None
    artifacts: list[Page] | None = None
    truncated: bool | None = None
    total: int | None = None
    next_page_token: str | None = None
    read: Reading | None = None


class ProjectInput(Struct, kw_only=True):
    """What is done with which document."""

    method: str = ""
    path: str | None = None
    content: str | None = None
    local_path: str | None = None
    present_to_user: bool | None = None
    query: str | None = None
    n: int | None = None


class Knowledge(Struct, kw_only=True):
    """A document, or a passage found in one."""

    path: str | None = None
    name: str | None = None
    text: str | None = None
    page: int | None = None
    file_kind: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    size_bytes: int | None = None
    doc_uuid: str | None = None


class ProjectOutput(Struct, kw_only=True):
    """What came of it, in all the ways a project can be asked."""

    method: str | None = None
    notice: str | None = None
    name: str | None = None
    description: str | None = None
    instructions: str | None = None
    path: str | None = None
    content: str | None = None
    local_file: str | None = None
    local_path: str | None = None
    file_kind: str | None = None
    doc_uuid: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    size_bytes: int | None = None
    replaced: bool | None = None
    deleted: bool | None = None
    truncated: bool | None = None
    rag: bool | None = None
    docs: list[Knowledge | str] | None = None
    files: list[Knowledge] | None = None
    hits: list[Knowledge] | None = None
    sync_sources: list[Any] | None = None
    knowledge: dict[str, Any] | None = None


class DesignInput(Struct, kw_only=True):
    """What is done with a design; the names were others once."""

    operation: str | None = None
    method: str | None = None
    arguments: Any = None
    projectId: str | None = None
    path: str | None = None


class DesignOutput(Struct, kw_only=True):
    """What came of it."""

    operation: str | None = None
    method: str | None = None
    content: Any = None
    isError: bool | None = None
    name: str | None = None
    projectId: str | None = None
    type: str | None = None
    canEdit: bool | None = None
    path: str | None = None
    paths: list[str] | None = None
    contentType: str | None = None
    isBase64: bool | None = None
    truncated: bool | None = None


def artifact_title(call: ToolCall) -> str:
    """What is done with which page."""
    given, output = call.input(ArtifactInput), call.output(ArtifactOutput) or ArtifactOutput()
    action = "" if given.action == "publish" else line(given.action).replace("_", " ")
    what = first(given.title, output.title, given.label, given.file_path, given.url, given.asset_id)
    return " ".join(part for part in (call.name, action, line(what)) if part)


def draw_artifact(call: ToolCall) -> Iterator[Node]:
    """The page, its address and what was said of it."""
    given, output = call.input(ArtifactInput), answer(call, ArtifactOutput)
    yield from _draw.prose(given.description)
    yield from _draw.files(
        (first(given.file_path, output.path if output else None), given.label),
        *((path, None) for path in as_list(given.file_paths)),
    )
    yield from facts(
        action=words(given.action),
        title=words(given.title),
        asked=words(given.prompt),
        icon=first(given.icon, given.favicon),
        scope=words(given.scope),
        asset=words(given.asset_id),
    )
    if output is None or call.ending.state != DONE:
        yield from _draw.links((given.url, given.title))
        yield from _draw.reply(call)
        return
    yield from _published(given, output)
    yield from _pages(output)
    yield from _read(held(output.read, Reading))
    for name in ASIDES:
        if as_dict(call.data).get(name):
            yield from _draw.section(name.replace("_", " "), [Data(value=as_dict(call.data)[name])], open=True)


def _published(given: ArtifactInput, output: ArtifactOutput) -> Iterator[Node]:
    yield from _draw.links((first(output.url, given.url), first(output.title, given.title)))
    if output.unchanged is True:
        yield Note(text="nothing changed")
    for warning in as_list(output.warnings):
        yield from _draw.note(warning, "warning")
    yield from facts(
        version=words(output.version),
        updated="yes" if output.updated is True else "",
        id=words(output.artifact_id),
        audience=words(output.audience),
        live=words(output.liveSubscription),
        contract=words(output.contract),
        publishes_left=grouped(output.publishesRemaining),
    )


def _pages(output: ArtifactOutput) -> Iterator[Node]:
    pages = each(output.artifacts, Page)
    yield from _draw.links(*((page.url, page.title) for page in pages))
    if output.truncated is True:
        yield Note(text=f"not all: {count(len(pages), 'page')} of {grouped(output.total) or 'more'}", level="warning")


def _read(page: Reading | None) -> Iterator[Node]:
    if page:
        yield from _draw.links((page.url, page.title))
        yield from _draw.prose(page.result)
        status = f"{grouped(page.code)} {words(page.codeText)}".strip()
        yield from facts(status=status, size=size(page.bytes), duration=span_ms(page.durationMs))


def project_title(call: ToolCall) -> str:
    """What is done with which document."""
    given = call.input(ProjectInput)
    method = line(given.method).removeprefix("project_").replace("_", " ")
    query = f'"{line(given.query)}"' if first(given.query) else ""
    return " ".join(part for part in (call.name, method, line(given.path), query) if part)


def draw_project(call: ToolCall) -> Iterator[Node]:
    """The document, or what was found."""
    given, output = call.input(ProjectInput), answer(call, ProjectOutput)
    yield from facts(
        does=words(given.method), document=words(given.path), query=words(given.query), file=words(given.local_path)
    )
    yield from _draw.text(given.content)
    if output is None or call.ending.state != DONE:
        yield from _draw.reply(call)
    else:
        yield from _known(output)


def _known(output: ProjectOutput) -> Iterator[Node]:
    yield from _draw.note(output.notice)
    yield from _draw.prose(output.description)
    yield from _draw.section("instructions", _draw.prose(output.instructions), open=True)
    yield from _draw.text(output.content)
    for hit in each(output.hits, Knowledge):
        yield from _draw.section(_source(hit), _draw.text(hit.text), open=True)
    shelf = [*as_list(output.docs), *as_list(output.files)]
    yield from _draw.files(*(_document(one) for one in shelf))
    yield from _draw.files((output.local_file, "saved here"), (output.local_path, "sent from here"))
    yield from facts(
        project=words(output.name),
        document=words(output.path),
        kind=words(output.file_kind),
        id=words(output.doc_uuid),
        size=size(output.size_bytes),
        created=words(output.created_at),
        updated=words(output.updated_at),
        replaced="yes" if output.replaced is True else "",
        deleted="yes" if output.deleted is True else "",
    )
    if output.truncated is True:
        yield Note(text="cut", level="warning")
    for name, value in (("knowledge", output.knowledge), ("sources", output.sync_sources)):
        if value:
            yield from _draw.section(name, [Data(value=value)])


def _source(hit: Knowledge) -> str:
    page = f", page {hit.page}" if number(hit.page) is not None else ""
    return f"{line(first(hit.name, hit.path, hit.doc_uuid, '?'))}{page}"


def _document(one: Any) -> tuple[str, str]:
    if not isinstance(one, Knowledge):
        return words(one), ""
    notes = (words(one.file_kind), size(one.size_bytes), first(one.updated_at, one.created_at))
    return first(one.path, one.name), ", ".join(note for note in notes if note)


def design_title(call: ToolCall) -> str:
    """What is done with which design."""
    given, output = call.input(DesignInput), call.output(DesignOutput) or DesignOutput()
    parts = (first(given.operation, given.method), first(given.path, output.name, given.projectId))
    return " ".join(part for part in (call.name, *map(line, parts)) if part)


def draw_design(call: ToolCall) -> Iterator[Node]:
    """What was asked of the design service, and what it answered."""
    given, output = call.input(DesignInput), answer(call, DesignOutput)
    yield from facts(does=first(given.operation, given.method), project=words(given.projectId), file=words(given.path))
    if given.arguments:
        yield from _draw.section("arguments", [Data(value=given.arguments)], open=True)
    if output is None or call.ending.state != DONE:
        yield from _draw.reply(call)
        return
    if output.isError is True:
        yield Note(text="failed", level="error")
    yield from _design(output)


def _design(output: DesignOutput) -> Iterator[Node]:
    if isinstance(output.content, str) and output.isBase64 is not True:
        yield Code(text=output.content, path=first(output.path) or None)
    elif output.content and not isinstance(output.content, str):
        yield from _draw.content(output.content)
    yield from _draw.files(*((path, None) for path in as_list(output.paths)))
    yield from facts(
        name=words(output.name),
        type=first(output.type, output.contentType),
        project=words(output.projectId),
        may_edit=yes(output.canEdit),
    )
    if output.truncated is True:
        yield Note(text="cut", level="warning")


TOOLS = [
    Tool(("Artifact",), artifact_title, draw_artifact),
    Tool(("Projects",), project_title, draw_project),
    Tool(("ClaudeDesign", "DesignSync"), design_title, draw_design),
]
