"""Tables beside the log: saved when they have changed, as a sign of life, by the last writer only."""

import pytest

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.survey import survey, tables_in
from mqgateway.engine.tier.table_saving import ALIVE_SECONDS, TABLES_KEPT, TABLES_SECONDS, newest_tables
from tests.support.engine.tier.continuous import MASTER, SLAVE
from tests.support.engine.tier.memory_objects import StoreFault
from tests.support.engine.tier.restoring import LostStore
from tests.support.engine.tier.saving import NAMES

TOPICS = "config/topics.json"


@pytest.fixture
def saved(tmp_path_factory: pytest.TempPathFactory) -> LostStore:
    store = LostStore(tmp_path_factory.mktemp("unused"))
    store.set_topics("orders", "pay")
    store.put(40)
    assert store.look().failure == ""
    return store


def pass_time(saved: LostStore, seconds: float = TABLES_SECONDS) -> None:
    saved.clock.advance(int(seconds * 1000))


def topics_in_tier(saved: LostStore) -> bytes:
    tables = newest_tables(saved.readers(), NAMES)
    assert tables is not None
    return tables.files[TOPICS]


def test_tables_and_the_shape_of_the_store_are_saved(saved: LostStore) -> None:
    tables = newest_tables(saved.objects, NAMES)
    assert tables is not None
    assert tables.files == {TOPICS: saved.disk.read_bytes(f"/store/{TOPICS}")}
    assert tables.log_file_size == 4096
    assert tables.shapes.queue_file == 200
    assert tables.ends["consumequeue"]["orders"] == {"0": 20, "1": 20}


def test_tables_are_saved_again_when_they_have_changed(saved: LostStore) -> None:
    saved.set_topics("orders", "pay", "later")
    saved.look()
    assert b"later" not in topics_in_tier(saved)
    pass_time(saved)
    saved.look()
    assert b"later" in topics_in_tier(saved)
    assert len(survey(saved.objects, NAMES).epochs) == 1


def test_unchanged_tables_are_saved_as_a_sign_of_life_only(saved: LostStore) -> None:
    before = tables_in(saved.objects, NAMES)
    pass_time(saved)
    saved.look()
    assert tables_in(saved.objects, NAMES) == before
    pass_time(saved, ALIVE_SECONDS)
    saved.look()
    assert len(tables_in(saved.objects, NAMES)) == len(before) + 1


def test_ends_of_queues_are_read_again_while_tables_change(saved: LostStore) -> None:
    saved.put(40)
    for number in range(int(ALIVE_SECONDS / TABLES_SECONDS)):
        tables = newest_tables(saved.readers(), NAMES)
        assert tables is not None
        assert tables.ends["consumequeue"]["orders"]["0"] == 20
        saved.set_topics("orders", "pay", f"t{number}")
        pass_time(saved)
        saved.look()
    tables = newest_tables(saved.readers(), NAMES)
    assert tables is not None
    assert tables.ends["consumequeue"]["orders"]["0"] == 40


def test_newest_objects_stay(saved: LostStore) -> None:
    for number in range(5):
        saved.set_topics("orders", f"t{number}")
        pass_time(saved)
        saved.look()
    assert len(tables_in(saved.objects, NAMES)) == TABLES_KEPT
    assert b"t4" in topics_in_tier(saved)


def test_next_process_saves_nothing_that_has_not_changed(saved: LostStore) -> None:
    before = dict(saved.objects.objects)
    pass_time(saved)
    saved.look(MASTER, saved.new_saver())
    assert saved.objects.objects == before


def test_clock_that_was_set_back_makes_no_older_tables(saved: LostStore) -> None:
    saved.clock.set_wall(saved.clock.millis() - 10_000_000)
    saved.set_topics("orders", "later")
    pass_time(saved)
    saved.look()
    assert b"later" in topics_in_tier(saved)


def test_slave_saves_no_tables(saved: LostStore) -> None:
    before = dict(saved.objects.objects)
    saved.set_topics("orders", "later")
    pass_time(saved, 1000)
    saved.look(SLAVE)
    assert saved.objects.objects == before


def test_fenced_writer_saves_no_tables(saved: LostStore) -> None:
    old = saved.saver
    saved.set_topics("orders", "of the new master")
    pass_time(saved)
    saved.look(MASTER, saved.new_saver())
    saved.set_topics("orders", "of the old master")
    assert "a later writer has begun" in saved.look(MASTER, old).failure
    assert b"of the new master" in topics_in_tier(saved)


@pytest.mark.parametrize("fault", list(StoreFault)[2:])
@pytest.mark.parametrize("call", range(1, 7))
def test_fault_at_a_request_delays_only(saved: LostStore, call: int, fault: StoreFault) -> None:
    saved.objects.faults[saved.objects.calls + call] = fault
    for name in ("first", "second"):
        saved.set_topics("orders", name)
        for _ in range(3):
            pass_time(saved)
            saved.look()
            assert topics_in_tier(saved)
    assert b"second" in topics_in_tier(saved)
    assert len(tables_in(saved.readers(), NAMES)) <= TABLES_KEPT + 1


def test_older_tables_are_used_for_damaged_ones(saved: LostStore) -> None:
    saved.set_topics("orders", "later")
    pass_time(saved)
    saved.look()
    first, last = (NAMES.tables_at(*key) for key in tables_in(saved.objects, NAMES))
    saved.objects.objects[last] = b"damaged"
    assert b"later" not in topics_in_tier(saved)
    saved.objects.objects[first] = b"damaged"
    with pytest.raises(CorruptFile, match="the object has no tables"):
        newest_tables(saved.objects, NAMES)


def test_tier_without_tables_has_none(tmp_path_factory: pytest.TempPathFactory) -> None:
    store = LostStore(tmp_path_factory.mktemp("unused"))
    store.put(40)
    store.look()
    assert newest_tables(store.objects, NAMES) is None
