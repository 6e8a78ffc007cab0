"""Consume queue ext: units that point there are right when what they point at is."""

from mqgateway.engine.disk import Disk
from mqgateway.engine.message import tags_code
from mqgateway.engine.store import schema
from mqgateway.engine.upkeep.ext_check import HEAD
from tests.support.engine.store.stores import ROOT
from tests.support.engine.upkeep.damage import QUEUE, change, filled, findings, put_file, the_finding

EXT = f"{ROOT}/consumequeue_ext/orders/0/{0:020d}"


def ext_unit(tags: str, time: int) -> bytes:
    return bytes(
        schema.EXT_UNIT.build({"tags_code": tags_code(tags), "store_timestamp": time, "bitmap": b"\5" * 14})
    )


def with_ext() -> Disk:
    """A store whose first unit of orders 0 points into ext."""
    disk = filled(4)
    first = ext_unit("t0", 1_700_000_000_000)
    put_file(disk, EXT, (first * 2 + b"\xff\xff").ljust(400, b"\0"))
    change(disk, QUEUE, 12, (len(first) - (1 << 63)).to_bytes(8, "big", signed=True))
    return disk


def test_the_layout_is_the_schemas() -> None:
    unit = ext_unit("t0", 77)
    assert HEAD.unpack_from(unit) == (34, tags_code("t0"), 77, 14)


def test_a_unit_that_points_at_its_tags_is_right() -> None:
    assert findings(with_ext()) == []


def test_wrong_tags_there_are_found() -> None:
    disk = with_ext()
    change(disk, EXT, 34 + 9, b"\x99")
    assert "unit 0 is" in the_finding(disk).what


def test_a_torn_file_is_found() -> None:
    disk = with_ext()
    change(disk, EXT, 1, b"\x99")
    found = {finding.part: finding for finding in findings(disk)}
    assert found["consumequeue_ext"].offset == 0
    assert "consumequeue_ext" in found["consumequeue_ext"].advice
