"""Which files are a DLedger member's log, with an older commit log below it or without."""

import pytest

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import StoreUnavailable
from mqgateway.engine.upkeep.findings import Findings
from mqgateway.engine.upkeep.layout import Layout
from mqgateway.engine.upkeep.ledger import LedgerFiles, find_index, find_log
from tests.support.engine.raft.ledgers import LEDGER, into_ledger
from tests.support.engine.store.stores import ROOT, options
from tests.support.engine.upkeep.damage import filled


def layout_of(disk: Disk) -> Layout:
    return Layout(disk, options())


def test_an_ordinary_log_is_none() -> None:
    disk = filled(40)
    assert layout_of(disk).ledger == ""
    assert not isinstance(find_log(layout_of(disk), Findings()), LedgerFiles)


def test_old_files_come_first() -> None:
    disk = into_ledger(filled(80), 2)
    layout, findings = layout_of(disk), Findings()
    files = find_log(layout, findings)
    assert isinstance(files, LedgerFiles)
    assert findings.kept == []
    assert files.divided == 8192
    assert files.starts == list(range(0, files.end, 4096))
    assert files.path(4096) == f"{ROOT}/commitlog/{4096:020d}"
    assert files.path(8192) == f"{LEDGER}/data/{8192:020d}"
    assert files.read(0, 4) == disk.read_bytes(files.path(0))[:4]
    assert files.read(8192, 4) == b"\0\0\0\1"
    assert find_index(layout, findings).starts[0] == 0


def test_without_old_files() -> None:
    files = find_log(layout_of(into_ledger(filled(40))), Findings())
    assert isinstance(files, LedgerFiles)
    assert files.divided == files.starts[0] == 0


def test_old_files_that_do_not_join_are_left_out() -> None:
    disk = into_ledger(filled(80), 2)
    disk.unlink(f"{ROOT}/commitlog/{4096:020d}")
    findings = Findings()
    assert find_log(layout_of(disk), findings).starts[0] == 8192
    assert "nothing joins them" in findings.kept[0].what


def test_which_member_must_be_clear() -> None:
    disk = into_ledger(filled(20))
    disk.makedirs(f"{ROOT}/dledger-n1/data")
    with pytest.raises(StoreUnavailable, match=r"several members: .*dledger-n0, .*dledger-n1"):
        layout_of(disk)


def test_data_elsewhere() -> None:
    disk = into_ledger(filled(20))
    disk.rmtree(f"{LEDGER}/data")
    with pytest.raises(StoreUnavailable, match="storePathDLedgerCommitLog"):
        layout_of(disk)
