"""The fields of a record that are no text to search for, with the reason: everything else is found."""

from __future__ import annotations

from collections.abc import Mapping

from reread.model.record_kinds import ENVELOPE

NAMES, CLIENT = (
    "it names a record, a request or the like, and says nothing",
    "the client chose it from a few words, which would be found in every session",
)
UNSAID_FIELDS: Mapping[str, str] = {
    **dict.fromkeys(ENVELOPE, NAMES),
    **dict.fromkeys(
        """
            agent_id api_message_id base commandUuid conversationId deliveryId forkedFrom hash hook_id id
            interruptedMessageId leafUuid logical_parent_uuid messageId parentToolUseID parent_task_id
            parent_tool_use_id promptId refusedMessageId refused_message_id refused_user_message_uuid
            requestDigest requestId requestRef request_id run_id serverClassifierRequest session_id
            shapeHash sourceToolAssistantUUID sourceToolUseID summarizedTurnPromptUuids task_id toolUseID
            tool_use_id
        """.split(),
        NAMES,
    ),
    **dict.fromkeys(
        """
            apiKeySource atis attributionAgent attributionMcpServer attributionMcpTool attributionPlugin
            attributionSkill advisorModel claude_code_version decision_reason_type effort
            fast_mode_disabled_reason fast_mode_state level madeBy mcpCallNotReadOnly mode operation origin
            output_style perTurnEffort permissionDecision permissionMode permission_decision priority
            promptCacheRequested promptSource provider renderedRole requestedModel sessionMode side status
            stop_reason subtype task_type terminal_reason thinkingDisplay thinkingMetadata thinking_display
            toolDenialKind tool_result_meta turnOrigin view_mode
        """.split(),
        CLIENT,
    ),
    **dict.fromkeys(("modelUsage", "model_usage_since_last_result", "usage", "costUSD"), "it counts tokens and money"),
}
"""The fields of records, and of what is attached to them, by the reason why they are not searched."""
UNSAID_MESSAGE: Mapping[str, str] = {
    "id": NAMES,
    "model": "searches have a field for it",
    **dict.fromkeys(("role", "type", "stop_reason", "stop_sequence", "container", "context_management"), CLIENT),
    "usage": "it counts tokens and money",
    "diagnostics": CLIENT,
}
"""The fields of a record's message, in the same way; its content is read block by block."""
SILENT_TYPES: Mapping[str, str] = {
    "api-request": "it names the messages of a request by their hashes",
    "file-history-delta": "it names copies of files that calls changed",
    "file-history-snapshot": "it names copies of files that calls changed",
    "stream_event": "it has a piece of a text; the whole text is found",
    "tools-used": "it names tools whose calls are found",
}
"""The types of record that are not searched."""
UNSAID_OF_TYPE: Mapping[str, Mapping[str, str]] = {
    "queue-operation": {"reason": CLIENT},
    "queued_command": {"commandMode": CLIENT, "source_uuid": NAMES},
}
"""Fields that are not searched in one type of record or attachment."""
