"""Files of a restored store beside the log: which tables, folders and ends of queues there are."""

from pathlib import Path

from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store.checkpoint import Checkpoint
from mqgateway.engine.tier.directory import TierDirectory
from mqgateway.engine.tier.format.tables import TierTables
from mqgateway.engine.tier.restored_tables import (
    ends_in_tier,
    has_kafka_transactions,
    make_queue_folders,
    shapes_of,
    write_checkpoint,
    write_tables,
)
from mqgateway.engine.tier.table_saving import ALIVE_SECONDS, TABLES_SECONDS
from mqgateway.engine.upkeep.layout import Layout
from mqgateway.engine.upkeep.manifest import Shapes
from tests.support.engine.store.stores import batch, message
from tests.support.engine.tier.continuous import HOUR
from tests.support.engine.tier.restoring import LostStore
from tests.support.engine.tier.saving import NAMES

Ends = dict[str, dict[str, dict[str, int]]]


def tables_of(ends: Ends, made: int = 0, **more: object) -> TierTables:
    made_tables = TierTables("/store", made, 4096, Shapes(200, 460, 16, 64), ends, {})
    return made_tables._replace(**more)  # type: ignore[arg-type]


def saved(folder: Path) -> tuple[LostStore, TierDirectory]:
    """Return a store with messages of `orders`, `pay` and, a day later, of `batched`, and its directory."""
    lost = LostStore(folder)
    lost.put(8)
    lost.clock.advance(24 * HOUR)
    lost.bench.store.put_inner_batch(message("batched", 1, batch(b"a", b"b")))
    lost.bench.store.dispatch()
    lost.bench = lost.bench.restart()
    lost.save_all()
    return lost, TierDirectory(NAMES).updated(lost.objects)


def test_ends_are_those_of_the_tier_for_queues_that_it_has(tmp_path: Path) -> None:
    lost, directory = saved(tmp_path)
    made = lost.clock.millis() - 12 * HOUR
    ends: Ends = {"consumequeue": {"orders": {"0": 9, "1": 1, "7": 3}, "rmq_sys_x": {"0": 2}}}
    found = ends_in_tier(tables_of(ends, made), directory, ())
    assert found == {
        "consumequeue": {"orders": {"0": 4, "1": 4, "7": 3}, "rmq_sys_x": {"0": 2}},
        "batchconsumequeue": {"batched": {"1": 2}},
    }
    assert ends["consumequeue"]["orders"]["0"] == 9


def test_queues_that_neither_tables_nor_younger_messages_have_were_deleted(tmp_path: Path) -> None:
    lost, directory = saved(tmp_path)
    later = tables_of({}, lost.clock.millis() + HOUR)
    assert ends_in_tier(later, directory, ()) == {}
    assert ends_in_tier(later, directory, {"pay"}) == {"consumequeue": {"pay": {"1": 2}}}
    assert set(ends_in_tier(None, directory, ())["consumequeue"]) == {"orders", "pay"}


def test_ends_may_be_older_than_the_tables(tmp_path: Path) -> None:
    _, directory = saved(tmp_path)
    batched = directory.history("batched", 1)
    assert batched is not None
    oldest = batched.last_time + int(1000 * (ALIVE_SECONDS + TABLES_SECONDS))
    assert "batchconsumequeue" in ends_in_tier(tables_of({}, oldest), directory, ())
    assert ends_in_tier(tables_of({}, oldest + 1), directory, ()) == {}


def test_folders_are_those_of_tables_and_of_younger_topics(tmp_path: Path) -> None:
    lost, directory = saved(tmp_path)
    root = tmp_path / "made"
    tables = tables_of({"consumequeue": {"old": {"0": 1}}}, lost.clock.millis() - 12 * HOUR)
    make_queue_folders(RealDisk(), str(root), tables, directory)
    assert sorted(str(each.relative_to(root)) for each in root.glob("*/*")) == [
        "batchconsumequeue/batched",
        "consumequeue/old",
    ]


def test_progress_of_delayed_messages_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    files = {"config/topics.json": b"{}", "config/delayOffset.json": b"{}"}
    write_tables(RealDisk(), str(tmp_path), tables_of({}, files=files))
    assert [each.name for each in (tmp_path / "config").iterdir()] == ["topics.json"]


def test_lengths_that_are_unknown_are_not_set() -> None:
    assert shapes_of(tables_of({})) == [
        ("mapped_file_size_consume_queue", 200),
        ("mapper_file_size_batch_consume_queue", 460),
        ("max_hash_slot_num", 16),
        ("max_index_num", 64),
    ]
    assert shapes_of(tables_of({}, shapes=Shapes(200, 0, 0, 1))) == [("mapped_file_size_consume_queue", 200)]


def test_transactions_are_known_by_the_log_of_their_coordinator() -> None:
    name = "__transaction_state"
    assert not has_kafka_transactions(None)
    assert not has_kafka_transactions(tables_of({"consumequeue": {"orders": {"0": 4}, name: {"0": 0}}}))
    assert has_kafka_transactions(tables_of({"consumequeue": {name: {"0": 0, "1": 5}}}))


def test_checkpoint_names_the_marker(tmp_path: Path) -> None:
    lost = LostStore(tmp_path)
    lost.set_topics("orders", "pay")
    lost.put(8)
    lost.save_all()
    lost.restore()
    layout = Layout(RealDisk(), lost.settings())
    write_checkpoint(layout, 0, 5)
    checkpoint = Checkpoint(RealDisk(), layout.checkpoint)
    checkpoint.load()
    assert checkpoint.logics_physical_offset == 0
    assert checkpoint.index_msg_timestamp == 5 < checkpoint.physic_msg_timestamp
