"""Timers of a store whose records lie elsewhere point at them again."""

import random
from pathlib import Path

from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store.record import decode
from mqgateway.engine.timers.checkpoint import STANDARD, TimerCheckpoint
from mqgateway.engine.timers.timer_log import TimerLog, Unit
from mqgateway.engine.timers.wheel import Slot, Wheel
from mqgateway.engine.upkeep.convert import convert_store
from mqgateway.engine.upkeep.findings import Findings
from mqgateway.engine.upkeep.layout import Layout
from mqgateway.engine.upkeep.ledger import find_log
from mqgateway.engine.upkeep.ledger_walk import walk_of
from tests.support.engine.raft.ledgers import into_ledger, onto_real_disk
from tests.support.engine.upkeep.damage import filled


def test_units_point_at_the_same_messages(tmp_path: Path) -> None:
    settings = onto_real_disk(into_ledger(filled(80), 1), tmp_path)
    disk, root = RealDisk(), settings.store_path_root_dir
    files = find_log(Layout(disk, settings), Findings())
    places = [place[2:] for place in walk_of(files, Findings(), None, lambda _: True).records()]
    random.Random(1).shuffle(places)
    timer_log = TimerLog(disk, f"{root}/timerlog", 520)
    timer_log.load(repair=False)
    units = [Unit(-1, 1, 1000, number, offset, size, 7) for number, (offset, size) in enumerate(places[:30])]
    units.append(Unit(-1, 1, 1000, 30, 1 << 40, 99, 7))
    at = [timer_log.append(unit) for unit in units]
    timer_log.write()
    wheel = Wheel(disk, f"{root}/timerwheel", 1000, 100)
    wheel.open()
    wheel.put(Slot(1000, at[0], at[-1], 30))
    (tmp_path / "store" / "config").mkdir(exist_ok=True)
    head = STANDARD.pack(1000, at[-1] + 52, 3, 3, 1, 2, 3)
    Path(f"{root}/config/timercheck").write_bytes(head + b"ours".ljust(4040, b"\1"))

    target = str(tmp_path / "new")
    report = convert_store(disk, settings, target)
    moved = TimerLog(disk, f"{target}/timerlog", 520)
    moved.load(repair=False)
    moved.open_at(timer_log.position)
    new = Path(f"{target}/commitlog")
    for position, unit in zip(at, units, strict=True):
        found = moved.read(position)
        assert found is not None
        assert found._replace(physical_offset=0) == unit._replace(physical_offset=0)
        if unit.physical_offset == 1 << 40:
            assert found == unit
            continue
        start = found.physical_offset - found.physical_offset % 4096
        data = (new / f"{start:020d}").read_bytes()
        message = decode(data, found.physical_offset - start)
        old = decode(files.read(unit.physical_offset, unit.size))
        assert (message.topic, message.queue_id, message.queue_offset, message.body) == (
            old.topic,
            old.queue_id,
            old.queue_offset,
            old.body,
        )
    assert report.timers == sum(unit.physical_offset >= 4096 for unit in units) - 1
    assert Path(f"{target}/timerwheel").read_bytes() == Path(f"{root}/timerwheel").read_bytes()
    checkpoint = TimerCheckpoint(disk, f"{target}/config/timercheck")
    checkpoint.load()
    assert (checkpoint.log_position, checkpoint.queue_offset, checkpoint.stable) == (at[-1] + 52, 3, None)
