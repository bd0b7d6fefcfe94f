"""Attachments of newer clients: notes, reminders and lists for the model, and marks that only the client reads."""

from __future__ import annotations

from functools import partial
from typing import Any

from reread.records.blocks import Content, Number
from reread.records.types.base import AttachmentPayload, declare, part

_part = partial(part, __name__)
ContextSection = _part("ContextSection", "A part of the context that the host of a session gives.", "name text")
PdfRead = _part("PdfRead", "A document that was read for a prompt.", "path", pages=Any, result=Content)
ReadProjectDoc = _part("ReadProjectDoc", "A document of a project that was read.", "docId hash", read=Any)
WithheldFile = _part("WithheldFile", "A memory file that was not loaded.", "path displayPath type reason")
_attachment = partial(declare, AttachmentPayload, __name__)
_attachment("account_memory_recall", "The memories of the account that fit a prompt.", "content")
_attachment(
    "advisor_tool",
    "Whether the model may ask an advisor.",
    "model toolChange",
    available=bool,
    abbreviated=bool,
    byBase=bool,
)
_attachment("artifact_opening_prefetch", "An artifact that a session opens with.", "content kind slug")
_attachment(
    "at_mention_reference",
    "Files that a prompt mentions and that were not read for it.",
    "unread",
    mentions=list[str],
    arePdfsToReadPlainly=bool,
)
_attachment("claude_app_notice", "The app that a prompt came from.", "app", lines=list[str])
_attachment("context_sections", "Context that the host of a session gives.", sections=list[ContextSection])
_attachment(
    "coordinator_context",
    "The instructions of a coordinating session; empty once it no longer coordinates.",
    "content",
    changed=bool,
)
_attachment("credential_org", "The organization whose credentials are used.", "organizationUuid")
_attachment("dynamic_skill", "Skills that were found in a folder.", "skillDir displayPath", skillNames=list[str])
_attachment("edited_image_file", "An image that was changed outside the conversation.", "filename", content=Any)
_attachment("inlined_image_paths", "Where the images of a prompt are.", paths=list[str], names=list[Any])
_attachment("instruction_files_not_loaded", "Instruction files of the project that were not loaded.", paths=list[str])
_attachment(
    "mcp_dropped_tools_delta",
    "Tools of MCP servers that cannot be used.",
    addedEntries=list[Any],
    addedLines=list[str],
    removedEntries=list[Any],
)
_attachment(
    "mcp_resource",
    "A resource of an MCP server that a prompt mentions.",
    "server uri name description displayText",
    content=Any,
)
_attachment(
    "memory_update",
    "Memory that changed during the session.",
    "source summary",
    paths=list[str],
    inContextPaths=list[str],
)
_attachment("message_pdf_reads", "Documents that were read for a prompt.", reads=list[PdfRead])
_attachment("output_token_usage", "How many tokens were written.", turn=Number, session=Number, budget=Number)
_attachment(
    "pdf_reference",
    "A document that a prompt mentions and that is too large to be read whole.",
    "filename displayPath",
    pageCount=int,
    fileSize=int,
    stillArriving=bool,
    wholeRefusedByModel=Any,
    modelReadsByPage=Any,
)
_attachment("plan_file_reference", "A plan that was made before a compaction.", "planFilePath planContent")
_attachment("prefix_delta", "A change of the context that comes first.", "text")
_attachment("proactivity", "How far the model may act without being asked.", "status", level=Any, tools=dict[str, Any])
_attachment("project_doc_reads", "Documents of a project that were read.", "form", reads=list[ReadProjectDoc])
_attachment("projects_thread_ask", "A question that a thread of a project waits for.", call=Any)
_attachment("prompt_render_point", "Where the system prompt was made anew.", "cause")
_attachment("repl_mcp_needs_auth", "MCP servers that want a login.", servers=list[Any])
_attachment("secondary_reminder_sent", "A reminder that was sent with a request.", "text clearAt")
_attachment(
    "selected_lines_in_diff",
    "Lines that were selected in the view of changes.",
    "content filePath",
    lineCount=int,
    mayHoldDownload=bool,
)
_attachment(
    "session_cron_carry",
    "Scheduled tasks that a resumed session takes along.",
    tasks=list[Any],
    otherArmed=list[Any],
    wakeup=Any,
    tickPrompt=Any,
    tickPlugin=Any,
)
_attachment("skill_mention", "A skill that a prompt names.", "skillName")
_attachment("teammate_shutdown_batch", "Teammates that were shut down together.", count=int)
_attachment(
    "thread_state",
    "When the person wrote last, and how many replies there were since.",
    "sinceUser",
    repliesSinceUser=int,
)
_attachment("token_usage", "How many tokens of the context are used.", used=Number, total=Number, remaining=Number)
_attachment("tool_hosts_correction", "A change of the computers on which tools run.", lines=list[str])
_attachment("tool_hosts_notice", "The computers on which tools run.", lines=list[str])
_attachment(
    "tool_results_cut", "Results that the model no longer sees.", "standIn", callIds=list[str], roughTokens=Number
)
_attachment("widget_context_hint", "Views that the person has open.", views=list[Any], moreViews=int)
_attachment("withheld_memory", "Memory files that were not loaded.", "by", entries=list[WithheldFile])
_attachment("elapsed_time_reminder", "How long a turn has taken.", "text")
_attachment("linked_plugin_tools_note", "Instructions for a plug-in's tools on another computer.", "text")
_attachment("output_limit_note", "How much the model may write.", "text")
