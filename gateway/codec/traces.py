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


def _record(fields: list[str]) -> TraceRecord | None:
    kind = fields[0]
    if kind == "Pub":
        is_good = fields[_STORED_AT] if len(fields) == _GIVEN_FIELDS else fields[_STORED_AT + 1]
        return TraceRecord(
            kind, fields[5], fields[3], int(fields[1]), int(fields[10]), is_good == "true", fields[4]
        )
    if kind == "SubBefore":
        return TraceRecord(kind, fields[5], fields[3], int(fields[1]), number=fields[4])
    if kind == "SubAfter":
        time = int(fields[7]) if len(fields) > 7 else 0
        group = fields[8] if len(fields) > 8 else ""
        return TraceRecord(
            kind, fields[2], group, time, int(fields[3]), fields[4] == "true", number=fields[1]
        )
    return None
