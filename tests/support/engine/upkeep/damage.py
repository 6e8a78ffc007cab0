"""A small store with data of every kind, and ways to damage it."""

from collections.abc import Callable
from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.disk import Disk
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.upkeep.check import CheckReport, check_store
from mqgateway.engine.upkeep.findings import StoreFinding
from tests.support.engine.store.stores import ROOT, Bench, batch, message, options

LOG = f"{ROOT}/commitlog"
QUEUE = f"{ROOT}/consumequeue/orders/0/{0:020d}"
CONFIG = f"{ROOT}/config"


def fill(count: int = 40, **changes: Any) -> Bench:
    """Return an open store over several log and queue files: tags, keys, batches, delays, two topics."""
    bench = Bench(clock=ManualClock(1_700_000_000_000), **changes)
    for number in range(count):
        properties = {"UNIQ_KEY": f"id{number}", "KEYS": f"k{number} all", "TAGS": f"t{number % 3}"}
        bench.put(message("orders", number % 2, b"body %d" % number, properties))
        if number % 10 == 0:
            bench.put(message("SCHEDULE_TOPIC_XXXX", 2, properties={"DELAY": "3", "TAGS": "x"}))
            result = bench.store.put_batch(message("pay"), batch(b"one", b"two"))
            assert result.status.name == "PUT_OK"
        bench.clock.advance(700)
    bench.store.dispatch()
    return bench


def filled(count: int = 40, **changes: Any) -> Disk:
    """Return the disk of such a store, stopped cleanly."""
    bench = fill(count, **changes)
    bench.store.stop()
    return bench.disk


def check(disk: Disk, limit: int = 1000, settings: StoreOptions | None = None) -> CheckReport:
    """Check with the settings of the tests."""
    return check_store(disk, settings or options(), limit=limit)


def findings(disk: Disk, severity: str = "error") -> list[StoreFinding]:
    """Return the findings of a check that have a severity."""
    return [finding for finding in check(disk).findings.kept if finding.severity == severity]


def the_finding(disk: Disk, severity: str = "error") -> StoreFinding:
    """Return the only such finding of a check."""
    (finding,) = findings(disk, severity)
    return finding


def change(disk: Disk, path: str, offset: int, data: bytes) -> bytes:
    """Overwrite a part of a file; return its old content."""
    file = disk.open(path)
    before = file.read(offset, len(data))
    file.write(offset, data)
    file.close()
    return before


def flip(disk: Disk, path: str, offset: int, bit: int = 0) -> Callable[[], object]:
    """Flip one bit; the returned function undoes it."""
    byte = disk.open(path).read(offset, 1)
    change(disk, path, offset, bytes((byte[0] ^ 1 << bit,)))
    return lambda: change(disk, path, offset, byte)


def put_file(disk: Disk, path: str, content: bytes) -> None:
    """Create or replace a file."""
    disk.makedirs(path.rpartition("/")[0])
    file = disk.open(path, create=True)
    file.truncate(0)
    file.write(0, content)
    file.close()
