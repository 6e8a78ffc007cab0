"""The small files of a member: in RocketMQ's format, and with any content."""

from mqgateway.engine.raft.files.properties import MemberProperties, read_noted, write_progress, write_vote
from mqgateway.engine.testing.crash_disk import CrashDisk

FOLDER = "/store/dledger-n0"


def test_as_the_standard_writes_them() -> None:
    disk = CrashDisk()
    disk.makedirs(FOLDER)
    assert read_noted(disk, FOLDER) == MemberProperties(-1, -1, -1, "")
    write_progress(disk, FOLDER, 458, 460)
    write_vote(disk, FOLDER, 1, "n1")
    assert disk.read_bytes(f"{FOLDER}/checkpoint") == b"committedIndex=458\nendIndex=460\n"
    assert disk.read_bytes(f"{FOLDER}/currterm") == b"voteLeader=n1\ncurrTerm=1\n"
    assert read_noted(disk, FOLDER) == MemberProperties(458, 460, 1, "n1")
    assert read_noted(disk, FOLDER).known == 460


def test_an_empty_file_gives_way_to_its_backup() -> None:
    disk = CrashDisk()
    disk.makedirs(FOLDER)
    write_vote(disk, FOLDER, 1, "n1")
    write_vote(disk, FOLDER, 2, "")
    assert read_noted(disk, FOLDER)[2:] == (2, "")
    disk.open(f"{FOLDER}/currterm").truncate(0)
    assert read_noted(disk, FOLDER)[2:] == (1, "n1")


def test_comments_and_nonsense() -> None:
    disk = CrashDisk()
    disk.makedirs(FOLDER)
    disk.open(f"{FOLDER}/checkpoint", create=True).write(0, b"#Tue\ncommittedIndex = 7\nendIndex=-x\nbare\n")
    assert read_noted(disk, FOLDER) == MemberProperties(7, -1, -1, "")


def test_a_vote_survives_a_power_cut() -> None:
    for seed in range(40):
        disk = CrashDisk()
        disk.makedirs(FOLDER)
        disk.sync_dir("/store")
        disk.sync_dir("/")
        write_vote(disk, FOLDER, 1, "n0")
        write_vote(disk, FOLDER, 2, "n1")
        assert read_noted(disk.crash(seed), FOLDER)[2:] == (2, "n1")
