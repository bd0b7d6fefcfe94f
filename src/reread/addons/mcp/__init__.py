"""Sessions for agents: a read-only server of the Model Context Protocol."""

from reread.base.addons import Addon

ADDON = Addon(verbs={"mcp": f"{__name__}.verb:mcp"}, heading="Set up")
