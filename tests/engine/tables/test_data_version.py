"""Versions of tables."""

from mqgateway.engine.tables.data_version import DataVersion


def test_a_change_raises_the_counter_and_notes_the_time() -> None:
    version = DataVersion(3, 1, 100)
    version.next(250)
    assert version == DataVersion(4, 1, 250)
    version.next(300, 3)
    assert version == DataVersion(7, 1, 300)


def test_json_is_the_standards() -> None:
    version = DataVersion(4, 0, 1717000000000)
    assert version.encode() == b'{"counter":4,"stateVersion":0,"timestamp":1717000000000}'
    assert DataVersion.from_json(version.to_json()) == version


def test_missing_numbers_are_zero() -> None:
    """Version 4 wrote no state version; a table may come without any version."""
    assert DataVersion.from_json({"counter": 1, "timestamp": 2}) == DataVersion(1, 0, 2)
    assert DataVersion.from_json(None) == DataVersion()
