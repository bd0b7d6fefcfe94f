"""Tools of claude.ai: Artifact (published pages), Projects (project knowledge) and ClaudeDesign."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reread.base.choices import DONE
from reread.base.coerce import as_dict, as_list
from reread.base.format import as_number, duration_ms_text, number_text, size_text
from reread.base.text import as_text, one_line, plural
from reread.tools import _draw
from reread.tools._values import as_type, first_nonblank, join_parts, list_of, typed_result, yes_no
from reread.tools.nodes import Code, Data, Node, Note, facts
from reread.tools.tool import Tool, ToolCall

EXTRA_FIELDS = (
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
"""Fields of an artifact's result that are drawn as JSON."""


class ArtifactInput(Struct, frozen=True, kw_only=True):
    """The input of Artifact."""

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


class ArtifactPage(Struct, frozen=True, kw_only=True):
    """A published page in a list."""

    title: str | None = None
    url: str = ""
    updatedAt: str | None = None
    rel: str | None = None
    role: str | None = None


class ArtifactContent(Struct, frozen=True, kw_only=True):
    """The content of a page."""

    url: str = ""
    title: str | None = None
    code: int | None = None
    codeText: str | None = None
    bytes: int | None = None
    result: str | None = None
    durationMs: float | None = None


class ArtifactResult(Struct, frozen=True, kw_only=True):
    """The result of Artifact: a page published, pages listed, or a page read."""

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
    artifacts: list[ArtifactPage] | None = None
    truncated: bool | None = None
    total: int | None = None
    next_page_token: str | None = None
    read: ArtifactContent | None = None


class ProjectsInput(Struct, frozen=True, kw_only=True):
    """The input of Projects."""

    method: str = ""
    path: str | None = None
    content: str | None = None
    local_path: str | None = None
    present_to_user: bool | None = None
    query: str | None = None
    n: int | None = None


class ProjectDocument(Struct, frozen=True, kw_only=True):
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


class ProjectsResult(Struct, frozen=True, kw_only=True):
    """The result of Projects, for every method."""

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
    docs: list[ProjectDocument | str] | None = None
    files: list[ProjectDocument] | None = None
    hits: list[ProjectDocument] | None = None
    sync_sources: list[Any] | None = None
    knowledge: dict[str, Any] | None = None


class ClaudeDesignInput(Struct, frozen=True, kw_only=True):
    """The input of ClaudeDesign; `method` is the earlier name of `operation`."""

    operation: str | None = None
    method: str | None = None
    arguments: Any = None
    projectId: str | None = None
    path: str | None = None


class ClaudeDesignResult(Struct, frozen=True, kw_only=True):
    """The result of ClaudeDesign."""

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
    """Return the action and the page."""
    args, output = call.input(ArtifactInput), call.output(ArtifactResult) or ArtifactResult()
    action = "" if args.action == "publish" else one_line(args.action).replace("_", " ")
    page = first_nonblank(args.title, output.title, args.label, args.file_path, args.url, args.asset_id)
    return join_parts(call.name, action, one_line(page))


def draw_artifact(call: ToolCall) -> Iterator[Node]:
    """Draw the page, its URL and what the service returned."""
    args, output = call.input(ArtifactInput), typed_result(call, ArtifactResult)
    yield from _draw.prose(args.description)
    yield from _draw.file_list(
        (first_nonblank(args.file_path, output.path if output else None), args.label),
        *((path, None) for path in as_list(args.file_paths)),
    )
    yield from facts(
        action=args.action,
        title=args.title,
        prompt=args.prompt,
        icon=first_nonblank(args.icon, args.favicon),
        scope=args.scope,
        asset=args.asset_id,
    )
    if output is None or call.outcome.state != DONE:
        yield from _draw.links((args.url, args.title))
        yield from _draw.plain_result(call)
        return
    yield from _published(args, output)
    yield from _page_list(output)
    yield from _page(as_type(output.read, ArtifactContent))
    for name in EXTRA_FIELDS:
        if as_dict(call.data).get(name):
            yield from _draw.section(name.replace("_", " "), [Data(value=as_dict(call.data)[name])], open=True)


def _published(args: ArtifactInput, output: ArtifactResult) -> Iterator[Node]:
    yield from _draw.links((first_nonblank(output.url, args.url), first_nonblank(output.title, args.title)))
    if output.unchanged is True:
        yield Note(text="unchanged")
    for warning in as_list(output.warnings):
        yield from _draw.note(warning, "warning")
    yield from facts(
        version=output.version,
        updated="yes" if output.updated is True else "",
        id=output.artifact_id,
        audience=output.audience,
        live=output.liveSubscription,
        contract=output.contract,
        publishes_left=number_text(output.publishesRemaining),
    )


def _page_list(output: ArtifactResult) -> Iterator[Node]:
    pages = list_of(output.artifacts, ArtifactPage)
    yield from _draw.links(*((page.url, page.title) for page in pages))
    if output.truncated is True:
        shown, total = plural(pages, "page"), number_text(output.total) or "more"
        yield Note(text=f"truncated: {shown} of {total}", level="warning")


def _page(page: ArtifactContent | None) -> Iterator[Node]:
    if page:
        yield from _draw.links((page.url, page.title))
        yield from _draw.prose(page.result)
        status = f"{number_text(page.code)} {as_text(page.codeText)}".strip()
        yield from facts(status=status, size=size_text(page.bytes), duration=duration_ms_text(page.durationMs))


def project_title(call: ToolCall) -> str:
    """Return the method and the document or query."""
    args = call.input(ProjectsInput)
    method = one_line(args.method).removeprefix("project_").replace("_", " ")
    query = f'"{one_line(args.query)}"' if first_nonblank(args.query) else ""
    return join_parts(call.name, method, one_line(args.path), query)


def draw_project(call: ToolCall) -> Iterator[Node]:
    """Draw the document, or what was found."""
    args, output = call.input(ProjectsInput), typed_result(call, ProjectsResult)
    yield from facts(method=args.method, document=args.path, query=args.query, file=args.local_path)
    yield from _draw.prose_or_code(args.content)
    if output is None or call.outcome.state != DONE:
        yield from _draw.plain_result(call)
    else:
        yield from _project(output)


def _project(output: ProjectsResult) -> Iterator[Node]:
    yield from _draw.note(output.notice)
    yield from _draw.prose(output.description)
    yield from _draw.section("instructions", _draw.prose(output.instructions), open=True)
    yield from _draw.prose_or_code(output.content)
    for hit in list_of(output.hits, ProjectDocument):
        yield from _draw.section(_hit_title(hit), _draw.prose_or_code(hit.text), open=True)
    documents = [*as_list(output.docs), *as_list(output.files)]
    yield from _draw.file_list(*map(_document_entry, documents))
    yield from _draw.file_list((output.local_file, "downloaded"), (output.local_path, "uploaded"))
    yield from facts(
        project=output.name,
        document=output.path,
        kind=output.file_kind,
        id=output.doc_uuid,
        size=size_text(output.size_bytes),
        created=output.created_at,
        updated=output.updated_at,
        replaced="yes" if output.replaced is True else "",
        deleted="yes" if output.deleted is True else "",
    )
    if output.truncated is True:
        yield Note(text="truncated", level="warning")
    for name, value in (("knowledge", output.knowledge), ("sources", output.sync_sources)):
        if value:
            yield from _draw.section(name, [Data(value=value)])


def _hit_title(hit: ProjectDocument) -> str:
    page = f", page {hit.page}" if as_number(hit.page) is not None else ""
    return f"{one_line(first_nonblank(hit.name, hit.path, hit.doc_uuid, '?'))}{page}"


def _document_entry(document: Any) -> tuple[str, str]:
    if not isinstance(document, ProjectDocument):
        return as_text(document), ""
    time = first_nonblank(document.updated_at, document.created_at)
    notes = (as_text(document.file_kind), size_text(document.size_bytes), time)
    return first_nonblank(document.path, document.name), join_parts(*notes, separator=", ")


def design_title(call: ToolCall) -> str:
    """Return the operation and the design."""
    args, output = call.input(ClaudeDesignInput), call.output(ClaudeDesignResult) or ClaudeDesignResult()
    parts = (first_nonblank(args.operation, args.method), first_nonblank(args.path, output.name, args.projectId))
    return join_parts(call.name, *map(one_line, parts))


def draw_design(call: ToolCall) -> Iterator[Node]:
    """Draw the request to the design service, and its answer."""
    args, output = call.input(ClaudeDesignInput), typed_result(call, ClaudeDesignResult)
    yield from facts(operation=first_nonblank(args.operation, args.method), project=args.projectId, file=args.path)
    if args.arguments:
        yield from _draw.section("arguments", [Data(value=args.arguments)], open=True)
    if output is None or call.outcome.state != DONE:
        yield from _draw.plain_result(call)
        return
    if output.isError is True:
        yield Note(text="failed", level="error")
    yield from _design(output)


def _design(output: ClaudeDesignResult) -> Iterator[Node]:
    if isinstance(output.content, str) and output.isBase64 is not True:
        yield Code(text=output.content, path=first_nonblank(output.path) or None)
    elif output.content and not isinstance(output.content, str):
        yield from _draw.draw_content(output.content)
    yield from _draw.file_list(*((path, None) for path in as_list(output.paths)))
    yield from facts(
        name=output.name,
        type=first_nonblank(output.type, output.contentType),
        project=output.projectId,
        can_edit=yes_no(output.canEdit),
    )
    if output.truncated is True:
        yield Note(text="truncated", level="warning")


TOOLS = [
    Tool(("Artifact",), artifact_title, draw_artifact, input=ArtifactInput, result=ArtifactResult),
    Tool(("Projects",), project_title, draw_project, input=ProjectsInput, result=ProjectsResult),
    Tool(("ClaudeDesign", "DesignSync"), design_title, draw_design, input=ClaudeDesignInput, result=ClaudeDesignResult),
]
