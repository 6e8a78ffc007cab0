"""Decoder of message traces written by clients: fields joined by 0x01, each record ended by 0x02.

RocketMQ: `TraceDataEncoder.decoderFromTraceDataString`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_RECORD_END, _FIELD_END = "\x02", "\x01"
_GIVEN_FIELDS, _STORED_AT = 13, 12


class TraceRecord(NamedTuple):
    """Trace record of a message.

    `kind` is Pub, SubBefore or SubAfter. `time` is in ms since the epoch: the start of the send or of the
    listener call, for SubAfter its end; 0 if an old client does not send it. `took` is in ms. `number`
    correlates SubBefore and SubAfter of the same messages.
    """

    kind: str
    message_id: str
    group: str
    time: int
    took: int = 0
    is_good: bool = True
    topic: str = ""
    number: str = ""


def trace_records(body: bytes) -> Iterator[TraceRecord]:
    """Yield the records in the body of a trace message; those of another form or kind are skipped."""
    for text in body.decode("utf-8", "replace").split(_RECORD_END):
        try:
            record = _record(text.split(_FIELD_END))
        except (IndexError, ValueError):
            continue
        if record is not None:
            yield record


def _record(told: list[str]) -> TraceRecord | None:
    kind = told[0]
    if kind == "Pub":
        is_good = told[_STORED_AT] if len(told) == _GIVEN_FIELDS else told[_STORED_AT + 1]
        return TraceRecord(kind, told[5], told[3], int(told[1]), int(told[10]), is_good == "true", told[4])
    if kind == "SubBefore":
        return TraceRecord(kind, told[5], told[3], int(told[1]), number=told[4])
    if kind == "SubAfter":
        time = int(told[7]) if len(told) > 7 else 0
        group = told[8] if len(told) > 8 else ""
        return TraceRecord(kind, told[2], group, time, int(told[3]), told[4] == "true", number=told[1])
    return None
