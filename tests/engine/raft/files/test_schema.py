"""A whole data file, parsed by the formats alone."""

from mqgateway.engine.raft.files import schema
from mqgateway.engine.raft.files.file_log import FileLog
from mqgateway.engine.testing.crash_disk import CrashDisk


def test_a_file_is_entries_and_a_blank() -> None:
    disk = CrashDisk()
    log = FileLog(disk, "/dledger-n0", 256, 64)
    for number in range(4):
        log.append(1, b"body %d" % number * 4)
    data, at, found = disk.read_bytes("/dledger-n0/data/" + "0" * 20), 0, []
    while data[at : at + 4] == b"\0\0\0\1":
        found.append(schema.ENTRY.parse(data[at:]))
        at += found[-1].size
    assert [(each.index, each.position) for each in found] == [(0, 0), (1, 72), (2, 144)]
    assert schema.BLANK.parse(data[at:])["size"] == len(data) - at == 40
    assert data[at + 8 :] == bytes(32)
    units = b"".join(disk.read_bytes(f"/dledger-n0/index/{start:020d}") for start in (0, 64))
    assert [schema.INDEX_UNIT.parse(units[at:])["position"] for at in (0, 32, 64, 96)] == [0, 72, 144, 256]
