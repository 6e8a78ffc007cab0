"""Results say what was stored and found."""

from mqgateway.engine.store.results import GetResult, GetStatus, PutResult, PutStatus
from tests.support.engine.store.stores import HOST


def test_a_put_has_one_id_and_a_batch_one_for_each() -> None:
    one = PutResult(PutStatus.PUT_OK, HOST, 3, 255, 400, 1)
    assert one.message_id == "7F00000100002A9F00000000000000FF"
    assert one.count == 1
    batch = PutResult(PutStatus.PUT_OK, HOST, 3, 255, 900, 1, [255, 256])
    assert batch.message_id == one.message_id + ",7F00000100002A9F0000000000000100"
    assert batch.count == 2


def test_a_refused_put_stored_nothing() -> None:
    refused = PutResult(PutStatus.MESSAGE_ILLEGAL, remark="why")
    assert refused.count == 0
    assert "MESSAGE_ILLEGAL" in repr(refused)


def test_a_found_result_counts_messages_and_bytes() -> None:
    found = GetResult(GetStatus.FOUND, 5, 0, 9, b"abc", [3, 4])
    assert (found.count, found.size) == (2, 3)
    assert "FOUND" in repr(found)
