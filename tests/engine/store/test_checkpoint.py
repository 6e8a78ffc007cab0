"""The checkpoint file."""

from mqgateway.engine.store import schema
from mqgateway.engine.store.checkpoint import Checkpoint
from mqgateway.engine.testing.crash_disk import CrashDisk


def test_the_schema_reads_what_was_saved() -> None:
    disk = CrashDisk()
    disk.makedirs("/s")
    checkpoint = Checkpoint(disk, "/s/checkpoint")
    checkpoint.load()
    checkpoint.physic_msg_timestamp = 1
    checkpoint.logics_msg_timestamp = 2
    checkpoint.index_msg_timestamp = 3
    checkpoint.master_flushed_offset = 4
    checkpoint.confirm_physical_offset = 5
    checkpoint.logics_physical_offset = 6
    checkpoint.save().sync()
    data = disk.read_bytes("/s/checkpoint")
    read = schema.CHECKPOINT.parse(data)
    assert len(data) == 4096
    assert [read[name] for name in list(read)[1:] if name] == [1, 2, 3, 4, 5, 6]
    again = Checkpoint(disk, "/s/checkpoint")
    again.load()
    assert (again.physic_msg_timestamp, again.logics_physical_offset) == (1, 6)
    again.close()
    again.close()
