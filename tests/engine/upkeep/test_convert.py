"""A DLedger member's store becomes an ordinary one: complete, checked, after any interruption."""

from pathlib import Path
from typing import Any

import pytest

from mqgateway.engine.errors import StoreUnavailable
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.raft.files.properties import write_progress
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.upkeep import convert as converting
from mqgateway.engine.upkeep.check import check_store
from mqgateway.engine.upkeep.convert import CONVERTING, ConvertReport, convert_store
from tests.support.engine.raft.ledgers import into_ledger, onto_real_disk
from tests.support.engine.store.stores import Bench, drain, message, options
from tests.support.engine.upkeep.damage import fill, filled
from tests.support.engine.upkeep.ending import EndingDisk, Interrupted

COUNT = 80


@pytest.fixture
def settings(tmp_path: Path) -> StoreOptions:
    """Return those of a member's store on the real disk, with one file of an older log before it."""
    return onto_real_disk(into_ledger(filled(COUNT), 1), tmp_path)


def convert(settings: StoreOptions, target: Path, disk: RealDisk | None = None) -> ConvertReport:
    return convert_store(disk or RealDisk(), settings, str(target))


def files_of(root: Path) -> dict[str, bytes]:
    """Return all files of a store, index files by number as their names are times."""
    found: dict[str, bytes] = {}
    for number, path in enumerate(sorted((root / "index").iterdir())):
        found[f"index {number}"] = path.read_bytes()
    for path in root.rglob("*"):
        if path.is_file() and path.parent.name != "index":
            found[str(path.relative_to(root))] = path.read_bytes()
    return found


def again(root: Path) -> Bench:
    return Bench(disk=RealDisk(), store_path_root_dir=str(root))  # type: ignore[arg-type]


@pytest.mark.parametrize("older", [0, 1])
def test_every_message_is_there_and_the_store_continues(older: int, tmp_path: Path) -> None:
    bench = fill(COUNT)
    before = {key: drain(bench.store, *key) for key in (("orders", 0), ("orders", 1), ("pay", 0))}
    bench.store.stop()
    settings = onto_real_disk(into_ledger(bench.disk, older), tmp_path)
    target = tmp_path / "new"
    report = convert(settings, target)
    assert report.records == sum(map(len, before.values())) + COUNT // 10
    assert (report.last_index, report.committed) == (report.entries - 1, report.entries - 1)
    assert report.member == "dledger-n0"
    assert not report.findings.errors
    assert not (tmp_path / ("new" + CONVERTING)).exists()
    assert sorted(path.name for path in target.iterdir()) == [
        "checkpoint",
        "commitlog",
        "consumequeue",
        "index",
    ]
    store = again(target)
    for key, messages in before.items():
        found = drain(store.store, *key)
        assert [(each.body, each.queue_offset, each.properties) for each in found] == [
            (each.body, each.queue_offset, each.properties) for each in messages
        ]
    assert store.put(message("orders", 0)) == [len(before["orders", 0])]
    assert len(store.store.query("orders", "k3", 10, 0, 1 << 62).records) == 1
    store.store.stop()
    assert check_store(RealDisk(), options(store_path_root_dir=str(target))).is_sound


def test_moved_starts_of_queues_stay(tmp_path: Path) -> None:
    bench = fill(COUNT)
    assert bench.store.move_start("orders", 1, 5) is not None
    bench.store.admin.delete_topics(["pay"])
    bench.put(*[message("pay", 0) for _ in range(3)])
    assert bench.store.move_start("pay", 0, 2) is not None
    bench.store.stop()
    settings = onto_real_disk(into_ledger(bench.disk, 0), tmp_path)
    convert(settings, tmp_path / "new")
    store = again(tmp_path / "new").store
    assert [store.min_offset(*key) for key in (("orders", 0), ("orders", 1), ("pay", 0))] == [0, 5, 2]


def test_converted_log_equals_the_original_ordinary_log(tmp_path: Path) -> None:
    disk = filled(COUNT)
    log = {name: disk.read_bytes(f"/store/commitlog/{name}") for name in disk.listdir("/store/commitlog")}
    convert(onto_real_disk(into_ledger(disk), tmp_path), tmp_path / "new")
    assert {path.name: path.read_bytes() for path in (tmp_path / "new" / "commitlog").iterdir()} == log


def test_the_members_store_is_only_read(settings: StoreOptions, tmp_path: Path) -> None:
    before = files_of(tmp_path / "store")
    convert(settings, tmp_path / "new")
    assert files_of(tmp_path / "store") == before


def test_tables_are_taken_over_and_what_is_not_is_reported(settings: StoreOptions, tmp_path: Path) -> None:
    config = tmp_path / "store" / "config"
    (config / "deep").mkdir(parents=True)
    (config / "consumerOffset.json").write_text('{"offsetTable":{"orders@g":{0:7}}}')
    (config / "deep" / "file").write_text("x")
    (tmp_path / "store" / "rocksdbstore").mkdir()
    report = convert(settings, tmp_path / "new")
    assert (tmp_path / "new" / "config" / "consumerOffset.json").read_text() == (
        '{"offsetTable":{"orders@g":{0:7}}}'
    )
    assert (tmp_path / "new" / "config" / "deep" / "file").read_text() == "x"
    assert report.left_out == ["rocksdbstore"]


def test_queue_whose_messages_have_gone_continues_where_it_ended(
    settings: StoreOptions, tmp_path: Path
) -> None:
    gone = tmp_path / "store" / "consumequeue" / "gone" / "0"
    gone.mkdir(parents=True)
    # Its last message, number 4, is before the log's beginning.
    (tmp_path / "store" / "commitlog" / f"{0:020d}").unlink()
    unit = (100).to_bytes(8, "big") + (90).to_bytes(4, "big") + bytes(8)
    (gone / f"{0:020d}").write_bytes(unit * 5 + bytes(100))
    convert(settings, tmp_path / "new")
    assert again(tmp_path / "new").put(message("gone", 0)) == [5]


def test_wherever_it_was_ended_it_can_be_asked_for_again(settings: StoreOptions, tmp_path: Path) -> None:
    convert(settings, tmp_path / "whole")
    whole = files_of(tmp_path / "whole")
    counting = EndingDisk()
    convert(settings, tmp_path / "counted", counting)
    last = counting.changes
    for end_at in sorted({*range(1, last, 7), *range(last - 5, last + 1)}):
        target = tmp_path / f"new{end_at}"
        with pytest.raises(Interrupted):
            convert(settings, target, EndingDisk(end_at))
        if not target.exists():
            convert(settings, target)
        # After an interruption behind the rename, the store may have one record of progress too many.
        assert {name: data for name, data in files_of(target).items() if name[:10] != "converting"} == whole


def test_it_continues_with_the_file_it_was_in(
    settings: StoreOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, begun = tmp_path / "new", tmp_path / ("new" + CONVERTING)

    def ended(*_: Any, **__: Any) -> None:
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(converting, "rebuild_store", ended)
        with pytest.raises(Interrupted):
            convert(settings, target)
    written = (begun / "commitlog" / f"{4096:020d}").stat().st_mtime_ns
    convert(settings, target)
    assert (target / "commitlog" / f"{4096:020d}").stat().st_mtime_ns == written


def refusal(settings: StoreOptions, target: Path) -> str:
    with pytest.raises(StoreUnavailable) as caught:
        convert(settings, target)
    assert not target.exists()
    return str(caught.value)


def test_a_damaged_log_is_refused(settings: StoreOptions, tmp_path: Path) -> None:
    data = tmp_path / "store" / "dledger-n0" / "data" / f"{4096:020d}"
    content = bytearray(data.read_bytes())
    content[48 + 90] ^= 1
    data.write_bytes(content)
    assert "convert the store of another member" in refusal(settings, tmp_path / "new")


def test_damage_is_no_end_even_without_checkpoint(settings: StoreOptions, tmp_path: Path) -> None:
    member = tmp_path / "store" / "dledger-n0"
    (member / "checkpoint").unlink()
    (member / "checkpoint.bak").unlink(missing_ok=True)
    data = member / "data" / f"{8192:020d}"
    data.write_bytes(bytes(100) + data.read_bytes()[100:])
    assert "convert the store of another member" in refusal(settings, tmp_path / "new")


def test_a_log_that_lacks_committed_entries_is_refused(settings: StoreOptions, tmp_path: Path) -> None:
    write_progress(RealDisk(), str(tmp_path / "store" / "dledger-n0"), 999, 999)
    assert "entries up to 999 were committed" in refusal(settings, tmp_path / "new")


def test_other_refusals(settings: StoreOptions, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(StoreUnavailable, match="is there already"):
        convert(settings, tmp_path / "taken")
    assert "there is no folder" in refusal(settings, tmp_path / "no" / "where")
    (tmp_path / ("new" + CONVERTING) / "commitlog" / "x").mkdir(parents=True)
    assert "no conversion has begun it" in refusal(settings, tmp_path / "new")
    convert(settings, tmp_path / "made")
    ordinary = options(store_path_root_dir=str(tmp_path / "made"))
    with pytest.raises(StoreUnavailable, match="is an ordinary store"):
        convert_store(RealDisk(), ordinary, str(tmp_path / "other"), keeps_batches=True)


def test_full_disk_is_reported_before_anything_is_written(settings: StoreOptions, tmp_path: Path) -> None:
    class FullDisk(RealDisk):
        def usage(self, path: str) -> tuple[int, int]:
            return 1 << 40, 1000

    with pytest.raises(StoreUnavailable, match="1000 are free"):
        convert(settings, tmp_path / "new", FullDisk())
    assert not (tmp_path / ("new" + CONVERTING)).exists()


def test_progress_comes_to_its_end(settings: StoreOptions, tmp_path: Path) -> None:
    notified: dict[str, list[tuple[int, int]]] = {}
    convert_store(
        RealDisk(),
        settings,
        str(tmp_path / "new"),
        progress=lambda stage, done, total: notified.setdefault(stage, []).append((done, total)),
    )
    assert {"writing the log", "comparing the logs"} <= set(notified)
    for steps in notified.values():
        assert all(0 <= done <= total for done, total in steps)
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
