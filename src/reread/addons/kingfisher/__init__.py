"""MongoDB's Kingfisher as another scanner for secrets, where it is installed."""

from reread.base.addons import Addon

ADDON = Addon(scanners={"Kingfisher": f"{__name__}.scanner:installed_engine"})
