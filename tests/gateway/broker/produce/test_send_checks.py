"""First checks of a message; the refusals themselves are in `test_send`."""

import pytest

from mqgateway.gateway.codec.codes import RequestCode
from tests.support.gateway.broker.admin import AdminBroker
from tests.support.gateway.broker.helpers import send_header


@pytest.mark.parametrize(
    "code", [RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2]
)
@pytest.mark.parametrize(
    ("fields", "refusal"),
    [({"topic": "a b"}, 29), ({"topic": "unknown", "default_topic": "none"}, 17), ({"queue_id": 99}, 29)],
)
def test_sends_and_replies_are_checked_alike(
    code: RequestCode, fields: dict[str, object], refusal: int
) -> None:
    broker = AdminBroker()
    broker.add_topic("T")
    assert broker.ask(code, send_header(**fields), b"x").code == refusal  # type: ignore[arg-type]
