"""Tools of claude.ai: Artifact (published pages), Projects (project knowledge) and ClaudeDesign."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reread.base.coerce import OBJECT, as_list
from reread.base.structs import FrozenStruct
from reread.base.text import plural
from reread.tools import _draw
from reread.tools._show import (
    Fields,
    declared,
    if_answered,
    show_data,
    show_each,
    show_facts,
    show_files,
    show_links,
    show_note,
    show_prose,
    show_prose_or_code,
    show_section,
)
from reread.tools._values import join_parts
from reread.tools.nodes import Code, Node, Note

EXTRA_FIELDS = tuple(
    """
    watch unwatch watches arms written asset_upload asset_uploads asset_list asset_read asset_delete pin stored
    capabilities
    """.split()
)
"""Fields of an artifact's result that are drawn as JSON."""


class ArtifactInput(FrozenStruct):
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


class ArtifactPage(FrozenStruct):
    """A published page in a list."""

    title: str | None = None
    url: str = ""
    updatedAt: str | None = None
    rel: str | None = None
    role: str | None = None


class ArtifactContent(FrozenStruct):
    """The content of a page."""

    url: str = ""
    title: str | None = None
    code: int | None = None
    codeText: str | None = None
    bytes: int | None = None
    result: str | None = None
    durationMs: float | None = None


class ArtifactResult(FrozenStruct):
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


class ProjectsInput(FrozenStruct):
    """The input of Projects."""

    method: str = ""
    path: str | None = None
    content: str | None = None
    local_path: str | None = None
    present_to_user: bool | None = None
    query: str | None = None
    n: int | None = None


class ProjectDocument(FrozenStruct):
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


class ProjectsResult(FrozenStruct):
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


class ClaudeDesignInput(FrozenStruct):
    """The input of ClaudeDesign; `method` is the earlier name of `operation`."""

    operation: str | None = None
    method: str | None = None
    arguments: Any = None
    projectId: str | None = None
    path: str | None = None


class ClaudeDesignResult(FrozenStruct):
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


def _artifact_title(fields: Fields) -> str:
    """Return the action and the page."""
    action = fields.line("action:words")
    page = fields.line("title|result.title|label|file_path|url|asset_id")
    return join_parts("" if action == "publish" else action, page)


def _project_title(fields: Fields) -> str:
    """Return the method and the document or query."""
    query = fields.line("query")
    method = fields.line("method").removeprefix("project_").replace("_", " ")
    return join_parts(method, fields.line("path"), f'"{query}"' if query else "")


def _pages(fields: Fields) -> Iterator[Node]:
    pages = fields.objects("result.artifacts")
    yield from _draw.links(*((page.text("url"), page.text("title")) for page in pages))
    if fields.value("result.truncated") is True:
        shown = f"{plural(pages, 'page')} of {fields.text('result.total:number') or 'more'}"
        yield Note(text=f"truncated: {shown}", level="warning")


def _warnings(fields: Fields) -> Iterator[Node]:
    for warning in as_list(fields.value("result.warnings")):
        yield from _draw.note(warning, "warning")


def _status(fields: Fields) -> str:
    return join_parts(fields.text("result.read.code:number"), fields.text("result.read.codeText"))


def _documents(fields: Fields) -> Iterator[Node]:
    listed = [*as_list(fields.value("result.docs")), *as_list(fields.value("result.files"))]
    known = (Fields(fields.call, item if isinstance(item, OBJECT) else {"path": item}) for item in listed)
    yield from _draw.file_list(*map(_document_entry, known))


def _document_entry(document: Fields) -> tuple[str, str]:
    notes = map(document.text, ("file_kind", "size_bytes:size", "updated_at|created_at"))
    return document.text("path|name"), join_parts(*notes, separator=", ")


def _design(fields: Fields) -> Iterator[Node]:
    content = fields.value("result.content")
    if isinstance(content, str) and fields.value("result.isBase64") is not True:
        yield Code(text=content, path=fields.text("result.path") or None)
    elif content and not isinstance(content, str):
        yield from _draw.draw_content(content)


TOOLS = [
    declared(
        ("Artifact",),
        _artifact_title,
        show_prose("description"),
        show_files(("file_path|result.path", "{label}"), ("file_paths", "")),
        show_facts(
            action="action", title="title", prompt="prompt", icon="icon|favicon", scope="scope", asset="asset_id"
        ),
        if_answered(
            show_links(("result.url|url", "{result.title|title}")),
            show_note("unchanged", when="result.unchanged"),
            _warnings,
            show_facts(
                version="result.version",
                updated="result.updated:if_yes",
                id="result.artifact_id",
                audience="result.audience",
                live="result.liveSubscription",
                contract="result.contract",
                publishes_left="result.publishesRemaining:number",
            ),
            _pages,
            show_links(("result.read.url", "{result.read.title}")),
            show_prose("result.read.result"),
            show_facts(status=_status, size="result.read.bytes:size", duration="result.read.durationMs:ms"),
            *(show_data(name.replace("_", " "), f"result.{name}", open=True) for name in EXTRA_FIELDS),
            other=[show_links(("url", "{title}"))],
        ),
        input=ArtifactInput,
        result=ArtifactResult,
    ),
    declared(
        ("Projects",),
        _project_title,
        show_facts(method="method", document="path", query="query", file="local_path"),
        show_prose_or_code("content"),
        if_answered(
            show_note("{result.notice}"),
            show_prose("result.description"),
            show_section("instructions", show_prose("result.instructions"), open=True),
            show_prose_or_code("result.content"),
            show_each(
                "result.hits",
                show_section("{name|path|doc_uuid|'?'}[, page {page:number}]", show_prose_or_code("text"), open=True),
            ),
            _documents,
            show_files(("result.local_file", "downloaded"), ("result.local_path", "uploaded")),
            show_facts(
                project="result.name",
                document="result.path",
                kind="result.file_kind",
                id="result.doc_uuid",
                size="result.size_bytes:size",
                created="result.created_at",
                updated="result.updated_at",
                replaced="result.replaced:if_yes",
                deleted="result.deleted:if_yes",
            ),
            show_note("truncated", "warning", when="result.truncated"),
            show_data("knowledge", "result.knowledge"),
            show_data("sources", "result.sync_sources"),
        ),
        input=ProjectsInput,
        result=ProjectsResult,
    ),
    declared(
        ("ClaudeDesign", "DesignSync"),
        "{operation|method} {path|result.name|projectId}",
        show_facts(operation="operation|method", project="projectId", file="path"),
        show_data("arguments", "arguments", open=True),
        if_answered(
            show_note("failed", "error", when="result.isError"),
            _design,
            show_files(("result.paths", "")),
            show_facts(
                name="result.name",
                type="result.type|result.contentType",
                project="result.projectId",
                can_edit="result.canEdit:yes_no",
            ),
            show_note("truncated", "warning", when="result.truncated"),
        ),
        input=ClaudeDesignInput,
        result=ClaudeDesignResult,
    ),
]
