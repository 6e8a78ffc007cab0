"""The needs that the tables state, of the requests that everything depends on."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from mqgateway.gateway.broker.needs import Needs, RequestDeclaration, on_first_use
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


def test_requests_on_first_use_are_served_by_the_functions_of_their_module() -> None:
    served = []
    module = ModuleType("module_of_requests")
    module.__dict__["REQUESTS"] = {1: lambda *given: served.append((1, *given)), 2: lambda *given: given}
    requests = on_first_use(module.__name__, {1: Needs.NOTHING, 2: Needs.MASTER})
    assert [request.needs for request in requests.values()] == [Needs.NOTHING, Needs.MASTER]
    broker: Any = "the broker"
    call: Any = SimpleNamespace(command=SimpleNamespace(code=1))
    with pytest.raises(ModuleNotFoundError):
        requests[1].function(broker, call)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, module)
        requests[1].function(broker, call)
    assert served == [(1, broker, call)]
