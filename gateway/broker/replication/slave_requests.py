"""What a slave answers otherwise than a master: it takes no messages.

It gives none out one by one either, as that writes down what is out, unless it acts for its master: then
another broker writes it down (`pop.away`). What it answers to pulls is in `consume.slave_pulls`.
Standard: `SendMessageProcessor.rejectRequest`.
"""

from collections.abc import Callable
from typing import NoReturn

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume.pull import REJECTED
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.needs import Needs
from mqgateway.gateway.broker.replication.write_gate import REFUSAL


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
    if broker.pop.away is None:
        raise OperationError(Reason.SYSTEM_BUSY, REJECTED)


SLAVE_CHECKS: dict[Needs, Callable[[Broker], None]] = {
    Needs.MASTER: refuse_send,
    Needs.MASTER_OR_OTHER: refuse_send_back,
    Needs.MASTER_OR_ACTING: only_acting,
}
"""What has to pass before a slave serves a request as a master does, by what the request needs."""
