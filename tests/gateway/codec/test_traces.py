"""Records of traces, as clients of all ages write them."""

from mqgateway.gateway.codec.traces import TraceRecord, trace_records

SENT = "Pub 1000 Region P T ID tag key 10.0.0.1:10911 5 12 0 OFFSET true"
BEGAN = "SubBefore 1100 Region G number ID 0 key"
ENDED = "SubAfter number ID 7 true key 0 1107 G"


def records_of(*records: str) -> list[TraceRecord]:
    body = "".join(record.replace(" ", "\x01") + "\x02" for record in records)
    return list(trace_records(body.encode()))


def test_sending_and_both_ends_of_consuming() -> None:
    assert records_of(SENT, BEGAN, ENDED) == [
        TraceRecord("Pub", "ID", "P", 1000, 12, True, "T"),
        TraceRecord("SubBefore", "ID", "G", 1100, number="number"),
        TraceRecord("SubAfter", "ID", "G", 1107, 7, True, number="number"),
    ]


def test_older_clients_say_less() -> None:
    [sent] = records_of("Pub 1000 Region P T ID tag key host 5 12 0 false")
    assert not sent.is_good
    [ended] = records_of("SubAfter number ID 7 false key 0")
    assert (ended.time, ended.group, ended.is_good) == (0, "", False)


def test_records_of_another_form_are_skipped() -> None:
    assert (
        records_of("Pub 1000", "Pub x Region P T ID tag key host 5 12 0 O true", "Recall 1 R P T ID true", "")
        == []
    )
