"""Play recorded sessions again: the real client, answered from a transcript."""

from reread.base.addons import Addon

ADDON = Addon(
    verbs={"rerun": f"{__name__}.verb:rerun"},
    heading="Run again",
    names={"fake_api": f"{__name__}.fake_api:fake_api", "rerun": f"{__name__}.playing:rerun"},
)
