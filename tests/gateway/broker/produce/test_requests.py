"""Outcomes of sends as the text of answers, requests as arguments; the conversations are in `test_send`."""

from typing import Any

import pytest

from mqgateway.engine.store.message_store import PutStatus
from mqgateway.gateway.broker.produce.durability import STORED
from mqgateway.gateway.broker.produce.put import SendOutcome
from mqgateway.gateway.broker.produce.requests import LESS_SAFE, sent
from mqgateway.gateway.codec.codes import CURRENT_VERSION, V3_4_9
from tests.support.gateway.broker.helpers import MemoryBroker


def outcome(**changes: Any) -> SendOutcome:
    """One of a message that is stored, with these changes."""
    made = SendOutcome(PutStatus.PUT_OK, "ID", 3, 123, None, None, None, "R", True)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


FIELDS = {"msgId": "ID", "queueId": "3", "queueOffset": "123", "MSG_REGION": "R", "TRACE_ON": "true"}


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({}, {}),
        ({"is_traced": False}, {"TRACE_ON": "false"}),
        ({"transaction_id": "K"}, {"transactionId": "K"}),
        ({"transaction_id": "K", "recall_handle": "H"}, {"transactionId": "K", "recallHandle": "H"}),
        ({"batch_id": "B"}, {"batchUniqId": "B"}),
    ],
)
def test_answer_has_the_fields_of_the_outcome(changes: Any, fields: dict[str, str]) -> None:
    assert sent(outcome(**changes)).ext == FIELDS | fields


def test_each_status_of_a_stored_message_has_its_code() -> None:
    assert {PutStatus.PUT_OK, *LESS_SAFE} == STORED
    assert {status: sent(outcome(status=status)).code for status in STORED} == {
        PutStatus.PUT_OK: 0,
        PutStatus.FLUSH_DISK_TIMEOUT: 10,
        PutStatus.SLAVE_NOT_AVAILABLE: 11,
        PutStatus.FLUSH_SLAVE_TIMEOUT: 12,
    }


@pytest.mark.parametrize(
    ("version", "topic"), [(V3_4_9 - 1, "%RETRY%G"), (V3_4_9, "%DLQ%G"), (CURRENT_VERSION, "%DLQ%G")]
)
def test_old_clients_do_not_limit_retries(version: int, topic: str) -> None:
    memory = MemoryBroker()
    memory.broker.tables.groups.find("G")
    memory.add_topic("%RETRY%G")
    memory.send("%RETRY%G", version=version, reconsume_times=2, max_reconsume_times=1)
    assert len(memory.stored(topic)) == 1
