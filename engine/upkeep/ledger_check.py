"""Check of a DLedger member's other files against its entries: index, checkpoint, term.

`entry` is called for each entry in order, `finish` at the end. RocketMQ: `DLedgerMmapFileStore`,
`MemberState`.
"""

from __future__ import annotations

from mqgateway.engine.raft.files.entry import INDEX_UNIT, INDEX_UNIT_SIZE, Head, unit_of
from mqgateway.engine.raft.files.properties import read_noted
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import Layout, place
from mqgateway.engine.upkeep.ledger import find_index

_CHUNK_SIZE = INDEX_UNIT_SIZE << 15
_MEMBER = "a member of the group rebuilds it from the data when it starts"


class LedgerCheck:
    """One check of a member's files."""

    def __init__(self, layout: Layout, findings: Findings) -> None:
        self._layout = layout
        self._findings = findings
        self._index = find_index(layout, findings)
        self.noted = read_noted(layout.disk, layout.ledger)
        self.entries = 0
        self.first: Head | None = None
        self.last: Head | None = None
        self._begin = 0
        self._chunk = b""

    def entry(self, head: Head) -> None:
        """Check the next entry."""
        self.entries += 1
        if self.first is None:
            self.first = head
        self.last = head
        at = head.index * INDEX_UNIT_SIZE
        unit = self._unit(at)
        if unit != unit_of(head):
            path, byte = place(self._index, at)
            what = f"entry {head.index} of {head.size} bytes at {head.position}, term {head.term}"
            if len(unit) < INDEX_UNIT_SIZE:
                what = f"the unit of {what}, is missing"
            else:
                _, position, size, index, term = INDEX_UNIT.unpack(unit)
                what += f", has a unit for entry {index} of {size} bytes at {position}, term {term}"
            self._findings.error(StorePart.LEDGER, path, byte, what, _MEMBER)

    def _unit(self, at: int) -> bytes:
        if not self._begin <= at <= self._begin + len(self._chunk) - INDEX_UNIT_SIZE:
            start = self._index.start_of(at)
            self._begin = at
            size = min(_CHUNK_SIZE, start + self._index.file_size - at)
            self._chunk = self._index.read(at, size) if start in self._index.starts else b""
        return self._chunk[at - self._begin : at - self._begin + INDEX_UNIT_SIZE]

    def finish(self) -> None:
        """Check what remains after the last entry."""
        layout, noted, last = self._layout, self.noted, self.last
        end = -1 if last is None else last.index
        if noted.committed > end:
            self._findings.error(
                StorePart.LEDGER,
                f"{layout.ledger}/checkpoint",
                -1,
                f"entries up to {noted.committed} were committed, the last one is {end}",
                "take another member's log; with Apache's 0.3.2 this one can never become master again",
            )
        if last is not None and noted.term < last.term:
            self._findings.error(
                StorePart.LEDGER,
                f"{layout.ledger}/currterm",
                -1,
                f"says term {noted.term}, the last entry is of term {last.term}",
                f"or it votes twice in one term: write currTerm={last.term + 1} there while it is stopped",
            )
