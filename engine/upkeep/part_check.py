"""Check of compacted parts: their indexes, and all their records."""

from __future__ import annotations

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.compacted_part import CompactedPart
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import RESTORE, Layout


def check_parts(layout: Layout, findings: Findings) -> None:
    """Check the compacted parts of a store."""
    for _, _, path in layout.part_files():
        try:
            part = CompactedPart(layout.disk, path)
        except CorruptFile as error:
            findings.error(StorePart.COMPACTED, path, error.offset, error.what, RESTORE)
            continue
        for _ in part.records():
            pass
        for position in sorted(part.damaged):
            findings.error(StorePart.COMPACTED, path, position, "damaged record", RESTORE)
