"""Arguments of a send beside the message."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.client.selectors import by_hash
from mqgateway.gateway.client.send_arguments import check_send, handle_parts
from tests.support.gateway.client.cluster import queue_of

MESSAGE: Any = Message("T", "x")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (("text", None, None), "message='text': pass a Message"),
        (({"topic": "T"}, None, None), "message=.*pass a Message"),
        ((MESSAGE, 3, None), "queue=3: pass one of queues"),
        ((MESSAGE, ("T", "broker-a", 0), None), "queue=.*pass one of queues"),
        ((MESSAGE, None, "hash"), "selector='hash': pass a function"),
    ],
    ids=repr,
)
def test_wrong_argument_of_a_send_is_named(given: Any, error: str) -> None:
    with pytest.raises(BadArgument, match=error):
        check_send(*given)
    check_send(MESSAGE, queue_of("T"), None)
    check_send(MESSAGE, None, by_hash)


def test_handle_has_broker_and_id() -> None:
    text = base64.urlsafe_b64encode(b"v1 T broker-a 1700000000000 KEY").decode()
    assert handle_parts(text) == ("broker-a", "KEY")
    for wrong in ("", "no handle", None, 5):
        with pytest.raises(BadArgument, match="handle="):
            handle_parts(wrong)  # type: ignore[arg-type]
