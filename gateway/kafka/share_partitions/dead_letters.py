"""Dead letters: records that a group is done with without success (KIP-1191). Pure.

Each becomes a record of the group's dead letter topic. Its headers say where it comes from and why.
Standard: `ShareGroupDLQStateManager`, `ShareGroupDLQManager`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

REJECTED: Final = "Offset rejected by client."
DELIVERED_TOO_OFTEN: Final = "Offset delivery count exceeded the threshold."


class DeadLetters(NamedTuple):
    """Offsets `first` to `last`, delivered `deliveries` times, and the cause."""

    first: int
    last: int
    deliveries: int
    cause: str


def restored_cause(deliveries: int, limit: int) -> str:
    """Return the cause of dead letters that are known of the log, which has it not. `limit` is
    `share.delivery.count.limit`."""
    return DELIVERED_TOO_OFTEN if deliveries >= limit else REJECTED


def by_offset(letters: Iterable[DeadLetters]) -> list[tuple[int, DeadLetters]]:
    """Return each offset with the dead letters that have it, in ascending order."""
    return [(offset, one) for one in sorted(letters) for offset in range(one.first, one.last + 1)]


def dead_letter_headers(
    topic: str, partition: int, offset: int, group: str, letters: DeadLetters
) -> list[tuple[str, bytes]]:
    """Return the headers of the dead letter of an offset. `topic` is that of the original record."""
    texts = {
        "topic": topic,
        "partition": str(partition),
        "offset": str(offset),
        "group": group,
        "delivery.count": str(letters.deliveries),
        "message": letters.cause,
    }
    return [(f"__dlq.errors.{name}", text.encode()) for name, text in texts.items()]
