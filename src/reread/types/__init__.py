"""The types of what the library returns, for annotations and `isinstance`.

Every type of record has a struct in `reread.records.types`, and every node a tool draws is in `reread.plugins`.
"""

from __future__ import annotations

from reread.accounting.billing import UsageRow
from reread.accounting.group_by import CostComparison, UsageGroup, UsageReport
from reread.accounting.prices import ModelName, Price, PricedModel, Prices, Rates, Tier
from reread.archive.archive import KeepReport
from reread.archive.restore import KeptVersion, RestoredFile
from reread.archive.retention import Retention, Stake
from reread.archive.sync import FileOutcome
from reread.archive.verify import KeptEntry, KeptProblem
from reread.catalog.stored_conversation import StoredConversation
from reread.catalog.stored_line import CaptureRun, StoredLine
from reread.catalog.writer import ConversationWriter
from reread.dataset.report import TablesReport
from reread.dataset.tables import Tables
from reread.history.file_text import FileText
from reread.history.versions import FileHistory, FileVersion
from reread.index.find import Hits
from reread.index.hits import Hit
from reread.model.ledger import Ledger
from reread.model.metadata import Metadata
from reread.model.prompt_text import Aside, PromptCommand, PromptText
from reread.recording.recorder import Capture
from reread.records.blocks import (
    AdvisorResult,
    AdvisorToolResult,
    BashCodeExecutionToolResult,
    Block,
    BlockPart,
    BrowserChange,
    BrowserState,
    BrowserTab,
    CacheControl,
    CallBlock,
    Caller,
    Citation,
    CitationsConfig,
    CodeExecutionResult,
    CodeExecutionToolResult,
    CompactionBlock,
    ContainerUpload,
    ContentSource,
    Document,
    Fallback,
    FallbackModel,
    FallbackTrigger,
    Image,
    ImageTransformations,
    McpTool,
    McpToolListing,
    McpToolResult,
    McpToolUse,
    OutputFile,
    RedactedThinking,
    ResultBlock,
    SearchResult,
    ServerToolUse,
    Text,
    TextEditorCodeExecutionToolResult,
    TextEditorResult,
    Thinking,
    ToolAddition,
    ToolChange,
    ToolReference,
    ToolRemoval,
    ToolResult,
    ToolSearchReferences,
    ToolSearchToolResult,
    ToolUse,
    UnknownBlock,
    WebFetchPage,
    WebFetchToolResult,
    WebSearchPage,
    WebSearchToolResult,
)
from reread.records.decode import Records
from reread.records.envelope import CacheCreationFields, ServerToolFields, UsageFields
from reread.records.lines import Lines
from reread.records.types import Entry
from reread.redaction.decisions import DecisionStore
from reread.redaction.findings import Occurrence, SensitiveText
from reread.redaction.manifest import RemovalManifest, Removed
from reread.redaction.omissions import Omitted
from reread.redaction.rewrite import Dropped
from reread.reports.blame_report import BlamedLine
from reread.reports.diff_report import DiffSide, FileDifference, SessionDiff
from reread.reports.file_report import FileAt
from reread.reports.session_facts import CallFact
from reread.reports.stats_report import CallPlace, Stats, StatsGroup, StatsReport
from reread.session.changes import ChangeStream
from reread.session.commits import Commit, PullRequest
from reread.session.context_window import ContextDrop, ContextFill
from reread.session.results import TurnResult
from reread.tools.nodes import Node

__all__ = [
    "AdvisorResult",
    "AdvisorToolResult",
    "Aside",
    "BashCodeExecutionToolResult",
    "BlamedLine",
    "Block",
    "BlockPart",
    "BrowserChange",
    "BrowserState",
    "BrowserTab",
    "CacheControl",
    "CacheCreationFields",
    "CallBlock",
    "CallFact",
    "CallPlace",
    "Caller",
    "Capture",
    "CaptureRun",
    "ChangeStream",
    "Citation",
    "CitationsConfig",
    "CodeExecutionResult",
    "CodeExecutionToolResult",
    "Commit",
    "CompactionBlock",
    "ContainerUpload",
    "ContentSource",
    "ContextDrop",
    "ContextFill",
    "ConversationWriter",
    "CostComparison",
    "DecisionStore",
    "DiffSide",
    "Document",
    "Dropped",
    "Entry",
    "Fallback",
    "FallbackModel",
    "FallbackTrigger",
    "FileAt",
    "FileDifference",
    "FileHistory",
    "FileOutcome",
    "FileText",
    "FileVersion",
    "Hit",
    "Hits",
    "Image",
    "ImageTransformations",
    "KeepReport",
    "KeptEntry",
    "KeptProblem",
    "KeptVersion",
    "Ledger",
    "Lines",
    "McpTool",
    "McpToolListing",
    "McpToolResult",
    "McpToolUse",
    "Metadata",
    "ModelName",
    "Node",
    "Occurrence",
    "Omitted",
    "OutputFile",
    "Price",
    "PricedModel",
    "Prices",
    "PromptCommand",
    "PromptText",
    "PullRequest",
    "Rates",
    "Records",
    "RedactedThinking",
    "RemovalManifest",
    "Removed",
    "RestoredFile",
    "ResultBlock",
    "Retention",
    "SearchResult",
    "SensitiveText",
    "ServerToolFields",
    "ServerToolUse",
    "SessionDiff",
    "Stake",
    "Stats",
    "StatsGroup",
    "StatsReport",
    "StoredConversation",
    "StoredLine",
    "Tables",
    "TablesReport",
    "Text",
    "TextEditorCodeExecutionToolResult",
    "TextEditorResult",
    "Thinking",
    "Tier",
    "ToolAddition",
    "ToolChange",
    "ToolReference",
    "ToolRemoval",
    "ToolResult",
    "ToolSearchReferences",
    "ToolSearchToolResult",
    "ToolUse",
    "TurnResult",
    "UnknownBlock",
    "UsageFields",
    "UsageGroup",
    "UsageReport",
    "UsageRow",
    "WebFetchPage",
    "WebFetchToolResult",
    "WebSearchPage",
    "WebSearchToolResult",
]
