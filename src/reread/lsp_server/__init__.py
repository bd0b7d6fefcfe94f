"""The language server: which session wrote a line, shown in an editor."""
