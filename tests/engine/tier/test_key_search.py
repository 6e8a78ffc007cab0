"""Records with a key that are in a tier only: found by hashes, compared by the key itself, within a limit."""

import logging

import pytest

from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.store.key_query import INDEX_KEY, INDEX_TAG, INDEX_UNIQUE
from mqgateway.engine.store.message_store import ColdRead
from mqgateway.engine.store.older_messages import KeySearch, NothingYet
from mqgateway.engine.store.record import decode
from mqgateway.engine.store.results import QueryResult
from mqgateway.engine.tier import key_search
from mqgateway.engine.tier.format.index import decode_header
from mqgateway.engine.tier.format.names import SegmentName
from mqgateway.engine.tier.key_search import search_keys
from mqgateway.engine.tier.object_store import ObjectStoreUnavailable
from tests.support.engine.store.stores import message
from tests.support.engine.tier.small_ranges import NAMES, WRITER
from tests.support.engine.tier.tiered import Tiered
from tests.support.engine.tier.version_1 import without_keys

COUNT = 60
RANGES = 6
FOREVER = 1 << 62


def filled() -> Tiered:
    """Return a store of `RANGES` ranges with messages one second apart, whose keys repeat in each range."""
    tiered = Tiered()
    for number in range(COUNT):
        keys = {"UNIQ_KEY": f"id{number}", "KEYS": f"k{number % 10} n{number}", "TAGS": f"t{number % 3}"}
        tiered.bench.put(message("orders", number % 2, b"%d" % number, keys))
        tiered.bench.put(message("pay", 0, b"paid %d" % number, {"KEYS": f"k{number % 10}"}))
        tiered.clock.advance(1000)
        if number % (COUNT // RANGES) == COUNT // RANGES - 1:
            tiered.save()
    return tiered


@pytest.fixture
def tiered() -> Tiered:
    found = filled()
    found.expire()
    found.refresh()
    return found


def query(
    tiered: Tiered,
    key: str,
    kind: str = INDEX_KEY,
    *,
    topic: str = "orders",
    most: int = 64,
    begin: int = 0,
    end: int = FOREVER,
) -> QueryResult:
    """Query as a broker does: an attempt is repeated once a worker has loaded what it lacked."""
    for _ in range(8):
        try:
            return tiered.store.query(topic, key, most, begin, end, kind, may_wait=False)
        except ColdRead as cold:
            done: list[int] = []
            tiered.store.bring(cold, lambda done=done: done.append(1))  # type: ignore[misc]
            tiered.worker.perform_all()
            assert done == [1]
    raise AssertionError("a query takes too many rounds")


def bodies(result: QueryResult) -> list[bytes]:
    return [decode(record).body for record in result.records]


def numbers(*found: int) -> list[bytes]:
    return [b"%d" % number for number in found]


def range_names(tiered: Tiered) -> list[str]:
    return [name for name in sorted(tiered.objects.objects) if name.startswith(NAMES.ranges)]


def test_records_with_a_key_are_found_in_all_ranges(tiered: Tiered) -> None:
    assert tiered.store.min_physical_offset > tiered.saved_to // 2
    assert bodies(query(tiered, "k3")) == numbers(3, 13, 23, 33, 43, 53)
    assert bodies(query(tiered, "k3", topic="pay")) == [b"paid %d" % number for number in range(3, 60, 10)]


def test_answers_are_those_of_a_store_that_has_all_messages() -> None:
    tiered = filled()
    keys = ("k3", "n17", "id17", "k9", "none")
    before = {key: query(tiered, key).records for key in keys}
    tags = query(tiered, "t1", INDEX_TAG).records
    tiered.expire()
    tiered.refresh()
    assert {key: query(tiered, key).records for key in keys} == before
    assert query(tiered, "t1", INDEX_TAG).records == tags
    assert len(before["k3"]) == 6 and len(tags) == 20


def test_newest_messages_are_found_first(tiered: Tiered) -> None:
    assert bodies(query(tiered, "k3", most=2)) == numbers(43, 53)
    assert bodies(query(tiered, "t0", INDEX_TAG, most=4)) == numbers(48, 51, 54, 57)


def test_unique_key_is_searched_from_the_begin_of_the_time(tiered: Tiered) -> None:
    ranges = range_names(tiered)
    del tiered.objects.objects[ranges[1]]  # nothing behind the hit is read
    assert bodies(query(tiered, "id5", INDEX_UNIQUE, most=1)) == numbers(5)
    assert bodies(query(tiered, "n5", INDEX_UNIQUE)) == []


def test_message_with_its_unique_key_in_the_local_log_is_not_searched_for(tiered: Tiered) -> None:
    calls = tiered.objects.calls
    assert bodies(query(tiered, f"id{COUNT - 1}")) == numbers(COUNT - 1)
    assert tiered.objects.calls == calls


def test_time_of_a_query_limits_the_ranges(tiered: Tiered) -> None:
    stored = [decode(record).store_timestamp for record in query(tiered, "k3").records]
    assert bodies(query(tiered, "k3", begin=stored[1], end=stored[2])) == numbers(13, 23)
    assert bodies(query(tiered, "k3", begin=stored[1] + 1, end=stored[2] - 1)) == []
    calls = tiered.objects.calls
    assert bodies(query(tiered, "k3", begin=stored[-1] + 3_600_000)) == []
    assert tiered.objects.calls == calls


def test_other_key_with_the_same_hash_is_left_out(tiered: Tiered) -> None:
    """The hashes of both are equal, as those of "Aa" and "BB" are."""
    tiered.bench.put(message("orders", 0, b"Aa", {"KEYS": "Aa"}), message("orders", 0, b"BB", {"KEYS": "BB"}))
    tiered.save()
    assert KeyHashes().of_key("orders", "Aa") == KeyHashes().of_key("orders", "BB")
    assert tiered.tier.directory is not None
    for key in ("Aa", "BB"):
        key_hash = KeyHashes().of_key("orders", key)
        wanted = KeySearch("orders", key, INDEX_KEY, key_hash, 64, 0, FOREVER)
        directory = tiered.tier.directory.updated(tiered.objects)
        hits = search_keys(tiered.objects, directory, wanted, tiered.saved_to)
        assert [decode(record).body for record in hits.records] == [key.encode()]


def test_ranges_without_hashes_are_passed_over(tiered: Tiered) -> None:
    for name in range_names(tiered)[:3]:
        tiered.objects.objects[name] = without_keys(tiered.objects.objects[name])
    again = tiered.restart()
    assert bodies(query(again, "k3")) == numbers(33, 43, 53)
    assert bodies(query(again, "id3", INDEX_UNIQUE)) == []


def test_search_ends_after_a_number_of_requests(
    tiered: Tiered, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(key_search, "REQUESTS_MAX", 6)
    caplog.set_level(logging.INFO, key_search.__name__)
    calls = tiered.objects.calls
    found = bodies(query(tiered, "k3"))
    assert found and found[-1] == b"53" and len(found) < RANGES
    # A record that was begun is read to its end: head, places, units and block.
    assert tiered.objects.calls - calls <= 6 + 4
    assert "a query for key k3 of orders ended after" in caplog.text


def test_answer_is_kept_until_another_range_is_known(tiered: Tiered) -> None:
    query(tiered, "k3")
    calls = tiered.objects.calls
    assert bodies(query(tiered, "k3")) == numbers(3, 13, 23, 33, 43, 53)
    assert tiered.objects.calls == calls


def test_damaged_range_is_passed_over_and_reported(tiered: Tiered, caplog: pytest.LogCaptureFixture) -> None:
    ranges = range_names(tiered)
    index = tiered.objects.objects[ranges[1]]
    at = decode_header(index, ranges[1]).keys_at
    tiered.objects.objects[ranges[1]] = index[:at] + b"\xff" + index[at + 1 :]
    del tiered.objects.objects[ranges[2]]
    assert bodies(query(tiered, "k3")) == numbers(3, 33, 43, 53)
    assert caplog.text.count("a range of the tier is left out of a query by key") == 2


def test_missing_segment_loses_its_messages_only(tiered: Tiered, caplog: pytest.LogCaptureFixture) -> None:
    del tiered.objects.objects[NAMES.segment(SegmentName(1, 0, 3, 0, WRITER))]
    assert bodies(query(tiered, "k2")) == numbers(12, 22, 32, 42, 52)
    assert "a block of the tier is left out of a query by key" in caplog.text


def test_deleted_messages_are_not_found(tiered: Tiered) -> None:
    """The topic was deleted and created again: its offsets begin with 0."""
    tiered.store.admin.delete_topics(["orders"])
    tiered.bench.put(message("orders", 0, b"new", {"KEYS": "k3"}))
    local = tiered.store.min_physical_offset
    for _ in range(2):
        found = [decode(record) for record in query(tiered, "k3").records]
        assert found[-1].body == b"new" and all(one.physical_offset >= local for one in found)
        tiered.save()
        tiered.refresh()


def test_query_without_an_answer_says_so_while_the_store_is_away(tiered: Tiered) -> None:
    def unavailable(_call: int) -> None:
        raise ObjectStoreUnavailable("503")

    tiered.objects.before = unavailable
    with pytest.raises(NothingYet, match="503"):
        query(tiered, "n5")
    assert bodies(query(tiered, f"n{COUNT - 1}")) == numbers(COUNT - 1)
    tiered.objects.before = lambda _: None
    tiered.clock.advance(10_000)
    assert bodies(query(tiered, "n5")) == numbers(5)


def test_query_before_the_ranges_are_known_says_so() -> None:
    tiered = filled()
    tiered.expire()
    with pytest.raises(NothingYet):
        query(tiered, "n5")
    tiered.refresh()
    assert bodies(query(tiered, "n5")) == numbers(5)
