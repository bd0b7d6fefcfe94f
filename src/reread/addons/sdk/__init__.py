"""A session store for the official Agent SDK."""

from reread.base.addons import Addon

ADDON = Addon(names={"RereadSessionStore": f"{__name__}.store:RereadSessionStore"})
