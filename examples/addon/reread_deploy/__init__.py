"""The log of a deploy bot, for reread."""

from reread.plugins import Addon

ADDON = Addon(
    dialects={"bot": "reread_deploy.dialect"},
    tools={"deploy": "reread_deploy.tools:TOOLS"},
    formats={"deploys": "reread_deploy.format:FORMAT"},
    verbs={"deploys": "reread_deploy.verb:deploys"},
    heading="Deploy",
)
