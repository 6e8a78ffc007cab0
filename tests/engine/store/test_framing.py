"""Bytes around a record, and their start."""

import pytest

from mqgateway.engine.raft.files.entry import ENTRIES
from mqgateway.engine.store.framing import BARE, Framing


@pytest.mark.parametrize(
    ("framing", "offset", "begin"),
    [(BARE, 0, 0), (BARE, 100, 100), (ENTRIES, 0, 0), (ENTRIES, 4096, 4096), (ENTRIES, 4144, 4096)],
)
def test_begin_of_entry_of_record(framing: Framing, offset: int, begin: int) -> None:
    assert framing.begin(offset, 4096) == begin
