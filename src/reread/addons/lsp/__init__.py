"""The language server: which session wrote a line, shown in an editor."""

from reread.base.addons import Addon

ADDON = Addon(verbs={"lsp": f"{__name__}.verb:lsp"}, heading="Set up")
