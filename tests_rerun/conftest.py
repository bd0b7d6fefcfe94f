"""The real client, of several versions, and a session that it plays."""

import shutil
import sys
from pathlib import Path

import pytest

from reread.addons.rerun.box import isolation
from reread.addons.rerun.clients import Client, install_client

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
VERSIONS = ("2.1.327", "2.1.220", "2.0.55")
"""The newest one that is known to play, one before requests were noted, and an old one."""
ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "examples" / "rerun" / "push.jsonl"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip everything where no client can be installed, or no box be closed."""
    reason = "" if isolation() is not None else "this system closes no box"
    reason = reason or ("" if shutil.which("npm") and shutil.which("node") else "the client is installed with npm")
    for item in items if reason else ():
        item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", params=VERSIONS)
def client(request: pytest.FixtureRequest) -> Client:
    """Each version of the client."""
    return install_client(request.param)


@pytest.fixture(scope="session")
def newest() -> Client:
    """The newest of them."""
    return install_client(VERSIONS[0])
