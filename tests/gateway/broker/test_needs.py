"""The needs that the tables state, of the requests that everything depends on."""

import pytest

from mqgateway.gateway.broker.needs import Needs, RequestDeclaration
from mqgateway.gateway.broker.requests import OF_ROOMS
from mqgateway.gateway.codec.codes import RequestCode


@pytest.mark.parametrize(
    ("code", "needs"),
    [
        (RequestCode.SEND_MESSAGE_V2, Needs.MASTER),
        (RequestCode.CONSUMER_SEND_MSG_BACK, Needs.MASTER_OR_OTHER),
        (RequestCode.ACK_MESSAGE, Needs.MASTER_OR_ACTING),
        (RequestCode.PULL_MESSAGE, Needs.NO_TRACE),
        (RequestCode.END_TRANSACTION, Needs.NOT_FENCED),
        (RequestCode.HEART_BEAT, Needs.NOTHING),
    ],
)
def test_tables_declare_the_needs_of_requests(code: RequestCode, needs: Needs) -> None:
    assert OF_ROOMS[code].needs is needs


def test_request_must_declare_its_need() -> None:
    with pytest.raises(TypeError, match="needs"):
        RequestDeclaration(lambda broker, call: call)  # type: ignore[call-arg]
