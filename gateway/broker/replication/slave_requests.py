"""What a slave answers otherwise than a master: it takes no messages.

It gives none out one by one either, as that writes down what is out, unless it acts for its master: then
another broker writes it down (`pop.away`). What it answers to pulls is in `consume.slave_pulls`.
Standard: `SendMessageProcessor.rejectRequest`.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume.pull import REJECTED
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.pop import requests as pop_requests
from mqgateway.gateway.broker.replication.write_gate import REFUSAL
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.remoting.call import Call
from mqgateway.gateway.remoting.dispatch import RequestFunction


def refuse_send(broker: Broker) -> NoReturn:
    """Refuse a message: a slave that could act for its master says that it cannot take any."""
    if broker.options.enable_slave_acting_master:
        raise OperationError(Reason.SERVICE_NOT_AVAILABLE, f"service not available now. Here: {REFUSAL}.")
    raise OperationError(Reason.SYSTEM_BUSY, REJECTED)


def refuse_send_back(broker: Broker) -> NoReturn:
    """Refuse a message that a consumer sends back: it sends it to another broker then."""
    if broker.options.enable_slave_acting_master:
        raise OperationError(
            Reason.SYSTEM_ERROR, f"no master available along with {broker.options.broker_ip1}"
        )
    raise OperationError(Reason.SYSTEM_BUSY, REJECTED)


def only_acting(broker: Broker) -> None:
    """Refuse what would write, unless this slave acts for its master."""
    if broker.pops.away is None:
        raise OperationError(Reason.SYSTEM_BUSY, REJECTED)


def _after(check: Callable[[Broker], None], serve: Callable[[Broker, Call], Any]) -> RequestFunction:
    """Serve a request once a check has passed."""

    def served(broker: Broker, call: Call) -> Any:
        check(broker)
        return serve(broker, call)

    return served


SLAVE_REQUESTS: dict[int, RequestFunction] = {
    RequestCode.SEND_MESSAGE: lambda broker, _: refuse_send(broker),
    RequestCode.SEND_MESSAGE_V2: lambda broker, _: refuse_send(broker),
    RequestCode.SEND_BATCH_MESSAGE: lambda broker, _: refuse_send(broker),
    RequestCode.CONSUMER_SEND_MSG_BACK: lambda broker, _: refuse_send_back(broker),
    RequestCode.POP_MESSAGE: _after(only_acting, pop_requests.pop_message),
    RequestCode.ACK_MESSAGE: _after(only_acting, pop_requests.ack_message),
    RequestCode.BATCH_ACK_MESSAGE: _after(only_acting, pop_requests.batch_ack_message),
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME: _after(only_acting, pop_requests.change_invisible_time),
}
"""In place of the functions of the same codes."""
