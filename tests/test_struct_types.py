"""Structs that several threads decode first."""

import subprocess
import sys

PROGRAM = """
import sys, threading
import msgspec
from reread.accounting.prices import BUNDLED_FILE, PriceTable
from reread.base.structs import build_types

build_types()
data = BUNDLED_FILE.read_bytes()
sys.setswitchinterval(1e-6)
start = threading.Barrier(8)

def decode():
    start.wait()
    msgspec.json.decode(data, type=PriceTable)

threads = [threading.Thread(target=decode) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_threads_may_decode_the_same_struct_first() -> None:
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
