"""Elections and changes are counted as they come."""

from mqgateway.engine.controller.counts import MICROS_BOUNDS, ControllerCounts


def test_changes_are_counted_with_their_time() -> None:
    counts = ControllerCounts()
    counts.changed(0.002, True)
    counts.changed(20, False)
    assert counts.changes.table == {("success",): 1, ("failed",): 1}
    found = counts.change_times.table[()]
    assert found.sum == 20_002_000
    assert [n for n, count in enumerate(found.counts) if count] == [
        MICROS_BOUNDS.index(3000),
        len(MICROS_BOUNDS),
    ]
