"""Names of objects: each is parsed as it is written, and sorts by epoch and position."""

import pytest

from mqgateway.engine.tier.format.names import ExpiredName, SegmentName, TierNames, names_in
from mqgateway.engine.tier.object_store import check_name

NAMES = TierNames("DefaultCluster", "broker-a")
EXPIRED = ExpiredName(3, 1 << 30, 2, 1_764_000_000_000)
SEGMENT = SegmentName(3, 1 << 30, 30, 2, "00ff00ff00ff00ff")


def test_names_are_those_of_the_format() -> None:
    assert NAMES.epoch(7) == "DefaultCluster/broker-a/epochs/0000000007"
    assert NAMES.range(3, 1 << 30) == "DefaultCluster/broker-a/ranges/0000000003/00000000001073741824.idx"
    assert NAMES.segment(SEGMENT) == (
        "DefaultCluster/broker-a/data/0000000003/00000000001073741824-30-0002-00ff00ff00ff00ff.seg"
    )
    assert NAMES.tables_at(3, 1_764_000_000_000) == (
        "DefaultCluster/broker-a/tables/0000000003/1764000000000.tables"
    )
    assert NAMES.expired(EXPIRED) == (
        "DefaultCluster/broker-a/ranges/0000000003/00000000001073741824-0002-1764000000000.gone"
    )


def test_parsing_inverts_naming() -> None:
    assert NAMES.expired_of(NAMES.expired(EXPIRED)) == EXPIRED
    assert NAMES.expired(EXPIRED).startswith(NAMES.marks(3, 1 << 30))
    assert NAMES.epoch_of(NAMES.epoch(7)) == 7
    assert NAMES.range_of(NAMES.range(3, 5)) == (3, 5)
    assert NAMES.segment_of(NAMES.segment(SEGMENT)) == SEGMENT
    assert NAMES.tables_of(NAMES.tables_at(3, 17)) == (3, 17)


@pytest.mark.parametrize(
    "name",
    [
        "DefaultCluster/broker-b/epochs/0000000007",
        "DefaultCluster/broker-a/epochs/7",
        "DefaultCluster/broker-a/ranges/0000000003/00000000001073741824.idx.tmp",
        "DefaultCluster/broker-a/data/0000000003/00000000001073741824-30-0002-zz.seg",
        "",
    ],
)
def test_other_objects_have_no_parts(name: str) -> None:
    assert (NAMES.epoch_of(name), NAMES.range_of(name), NAMES.segment_of(name)) == (None, None, None)
    assert NAMES.expired_of(name) is None
    assert NAMES.tables_of(name) is None


def test_marks_are_no_ranges() -> None:
    assert NAMES.range_of(NAMES.expired(EXPIRED)) is None
    assert NAMES.expired_of(NAMES.range(3, 5)) is None


def test_names_sort_by_epoch_and_position() -> None:
    places = [(1, 0), (1, 9), (1, 10), (1, 1 << 40), (2, 5), (10, 0)]
    names = [NAMES.range(*place) for place in places]
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("..", "%2E."),
        (".", "%2E"),
        ("a/b", "a%2Fb"),
        ("a b%", "a%20b%25"),
        ("a.b", "a.b"),
        ("a~ö", "a%7E%C3%B6"),
    ],
)
def test_any_name_is_one_part(name: str, escaped: str) -> None:
    names = TierNames(name, "b")
    assert names.root == f"{escaped}/b"
    assert check_name(names.epoch(1)) == names.epoch(1)


def test_broker_is_known_by_the_name_of_any_object() -> None:
    names = TierNames("Ärger/1", ".b")
    for name in (names.epoch(1), names.range(1, 2), names.segment(SEGMENT), names.tables_at(1, 2)):
        found = names_in(name)
        assert found is not None
        assert (found.cluster, found.broker, found.root) == ("Ärger/1", ".b", names.root)


@pytest.mark.parametrize("name", ["a", "self-test/01ab/once", "c/b/other/0000000001", "c/b"])
def test_other_objects_belong_to_no_broker(name: str) -> None:
    assert names_in(name) is None
