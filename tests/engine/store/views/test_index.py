"""The view of the index."""

from mqgateway.engine.message import SysFlag
from tests.support.engine.store.stores import Bench, message


def test_state_has_entries_of_files_and_of_memory() -> None:
    bench = Bench()
    bench.put(message(properties={"KEYS": "a b"}))
    view = bench.store._views[1]
    in_memory = view.state(0)
    assert isinstance(in_memory, list) and len(in_memory) == 2
    bench.clock.advance(2000)
    bench.store.tick()
    assert view.state(0) == in_memory
    assert view.state(1) == []


def test_rolled_back_messages_have_no_entry() -> None:
    bench = Bench()
    bench.put(message(properties={"KEYS": "a"}, sys_flag=SysFlag.TRANSACTION_ROLLBACK))
    assert bench.store._views[1].state(0) == []
    assert bench.kill().store._views[1].state(0) == []


def test_header_is_written_once_the_checkpoint_covers_it() -> None:
    bench = Bench()
    bench.put(message(properties={"KEYS": "a"}))
    bench.clock.advance(2000)
    bench.store.tick()
    index = bench.store._index
    assert index is not None
    unsynced = bench.store._views[1].take_unsynced()
    assert [file is index.files[0].file for file in unsynced.open_files] == [True]
    unsynced.note(bench.store._checkpoint)
    assert bench.store._checkpoint.index_msg_timestamp == index.files[0].end_timestamp
    unsynced.confirm()
    assert index.files[0].file.read(36, 4) == (2).to_bytes(4, "big")
