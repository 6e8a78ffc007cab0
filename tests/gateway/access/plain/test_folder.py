"""Listing of files, detection of changes, and changes that survive a power cut."""

from __future__ import annotations

import errno

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.jsonfile import write_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import PowerCut
from mqgateway.gateway.access.plain import folder
from mqgateway.gateway.access.plain.folder import AclFolder, Files

MAIN = "/rmq/conf/plain_acl.yml"


def account(name: str) -> bytes:
    return f"accounts:\n- {{accessKey: {name}, secretKey: a-secret}}\n".encode()


class Place:
    """A disk with files, and a folder that reads them."""

    def __init__(self, **files: bytes) -> None:
        self.clock = ManualClock()
        self.disk = CrashDisk(millis=self.clock.millis)
        self.folder = AclFolder(self.disk, BrokerOptions(rocketmq_home="/rmq"), self.clock)
        self.write(MAIN, account("main-account"))

    def write(self, path: str, text: bytes) -> None:
        self.clock.advance(1)
        write_table(self.disk, path, text)

    def read(self, known: Files | None = None) -> tuple[Files, list[str]]:
        return self.folder.read(known or {})


def accounts(files: Files) -> dict[str, list[str]]:
    return {
        path: [] if known.document is None else list(known.document.accounts) for path, known in files.items()
    }


def test_every_file_below_conf_acl_counts_and_the_main_one_last() -> None:
    place = Place()
    for name in (
        "acl/b.yml",
        "acl/a.yaml",
        "acl/deep/er/c.yml",
        "acl/tools.yml",
        "acl/.hidden.yml",
        "acl/x.txt",
    ):
        place.write(f"/rmq/conf/{name}", account(f"account-{name[-6]}"))
    place.write("/rmq/conf/tools.yml", b"accessKey: x")
    assert list(place.read()[0]) == [
        "/rmq/conf/acl/a.yaml",
        "/rmq/conf/acl/b.yml",
        "/rmq/conf/acl/deep/er/c.yml",
        MAIN,
    ]


def test_the_main_file_may_be_another_and_may_be_missing() -> None:
    place = Place()
    options = BrokerOptions(rocketmq_home="/rmq", acl_plain_file="conf/acl/mine.yml")
    other = AclFolder(place.disk, options, place.clock)
    assert other.read({}) == ({}, [])
    place.write("/rmq/conf/acl/mine.yml", account("my-account"))
    assert accounts(other.read({})[0]) == {"/rmq/conf/acl/mine.yml": ["my-account"]}


def test_only_what_has_changed_is_read_again() -> None:
    place = Place()
    place.write("/rmq/conf/acl/a.yml", account("a-account"))
    before, _ = place.read()
    place.write(MAIN, account("new-account"))
    after, problems = place.read(before)
    assert after["/rmq/conf/acl/a.yml"] is before["/rmq/conf/acl/a.yml"]
    assert accounts(after)[MAIN] == ["new-account"] and problems == []
    place.disk.unlink("/rmq/conf/acl/a.yml")
    assert list(place.read(after)[0]) == [MAIN]


def test_file_that_cannot_be_read_keeps_its_last_answer() -> None:
    place = Place()
    files, _ = place.read()
    for text, problem in ((b"accounts: [", f"{MAIN}:2: did not find"), (b"", f"{MAIN} is empty")):
        place.write(MAIN, text)
        files, problems = place.read(files)
        assert [one.startswith(problem) for one in problems] == [True]
        assert accounts(files) == {MAIN: ["main-account"]}
        assert place.read(files) == (files, [])
    place.write(MAIN, account("next-account"))
    assert accounts(place.read(files)[0]) == {MAIN: ["next-account"]}


def test_a_file_that_the_disk_does_not_give_is_a_problem() -> None:
    place = Place()
    files, _ = place.read()
    place.write(MAIN, account("next-account"))
    place.disk.fail_next("read", MAIN, errno.EIO)
    files, problems = place.read(files)
    assert [one.startswith(f"{MAIN} cannot be read: ") for one in problems] == [True]
    assert accounts(files) == {MAIN: ["main-account"]}
    assert accounts(place.read(files)[0]) == {MAIN: ["next-account"]}


def test_too_many_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "MAX_FILES", 2)
    place = Place()
    for name in ("a", "b", "c"):
        place.write(f"/rmq/conf/acl/{name}.yml", account(f"account-{name}"))
    with pytest.raises(ConfigError, match="there are more than 2 files"):
        place.read()


def test_a_change_is_read_from_the_file_as_it_is_now() -> None:
    place = Place()
    place.write(MAIN, b"globalWhiteRemoteAddresses: ['*']")
    known = place.folder.change(MAIN, lambda tree: {**tree, "accounts": []})
    assert known.document is not None and known.document.addresses == ("*",)
    assert place.read({MAIN: known}) == ({MAIN: known}, [])
    assert place.disk.mode(MAIN) & 0o077 == 0
    with pytest.raises(ConfigError):
        place.folder.change(MAIN, lambda tree: {"accounts": 5})
    after = place.read()[0][MAIN].document
    assert after is not None and after.tree == known.document.tree


@pytest.mark.parametrize("seed", range(5))
def test_a_change_or_what_was_before_outlives_a_power_cut(seed: int) -> None:
    outcomes = set()
    for skipped in range(12):
        place = Place()
        place.disk.cut_at = place.disk.operations + 1 + skipped
        try:
            place.folder.change(MAIN, lambda tree: {"accounts": []})
            done = True
        except PowerCut:
            done = False
        after = AclFolder(place.disk.crash(seed), BrokerOptions(rocketmq_home="/rmq"), place.clock)
        files, problems = after.read({})
        assert problems == []
        outcomes.add((done, tuple(accounts(files)[MAIN])))
    assert (True, ("main-account",)) not in outcomes
    assert (False, ("main-account",)) in outcomes and (True, ()) in outcomes
