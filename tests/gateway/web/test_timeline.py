from mqgateway.gateway.codec.traces import TraceRecord
from mqgateway.gateway.web.timeline import CONSUMED_MAX, HostRecord, timeline

BEGAN = HostRecord("h2", TraceRecord("SubBefore", "ID", "G", 1100, number="n"))
ENDED = HostRecord("h2", TraceRecord("SubAfter", "ID", "", 1107, 7, True, number="n"))


def test_sent_and_consumed_in_order() -> None:
    sent = [
        HostRecord("h1", TraceRecord("Pub", "ID", "P", began, 12, is_good))
        for began, is_good in ((9, True), (5, False))
    ]
    result = timeline([ENDED, *sent, BEGAN])
    assert [(step["began"], step["isGood"]) for step in result["sent"]] == [(5, False), (9, True)]
    assert result["consumed"] == [{"group": "G", "host": "h2", "began": 1100, "took": 7, "isGood": True}]


def test_one_end_alone() -> None:
    [begun] = timeline([BEGAN])["consumed"]
    assert (begun["began"], begun["took"], begun["isGood"]) == (1100, None, None)
    [ended] = timeline([ENDED])["consumed"]
    assert (ended["began"], ended["took"]) == (1100, 7)
    [old] = timeline([HostRecord("h", TraceRecord("SubAfter", "ID", "", 0, 7, number="n"))])["consumed"]
    assert old["began"] is None


def test_no_more_than_so_many() -> None:
    many = [HostRecord("h", TraceRecord("SubBefore", "ID", "G", at, number=str(at))) for at in range(100)]
    assert len(timeline(many)["consumed"]) == CONSUMED_MAX
