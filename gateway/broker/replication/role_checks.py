"""The check of the broker's role that every operation passes.

A slave takes no messages and delivers none one by one, as delivery is recorded, unless it acts for its
master: then another broker records it (`pop.away`). Its answers to pulls are in `consume.slave_pulls`.
Source: RocketMQ `SendMessageProcessor.rejectRequest`.
"""

from collections.abc import Callable
from typing import Final, NoReturn

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume.pull import REJECTED
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.needs import Needs
from mqgateway.gateway.broker.replication.write_gate import REFUSAL


def refuse_send(broker: Broker) -> NoReturn:
    """Refuse a message; a slave that could act for its master answers that it is not available."""
    if broker.options.enable_slave_acting_master:
        raise OperationError(Reason.SERVICE_NOT_AVAILABLE, f"service not available now. Here: {REFUSAL}.")
    raise OperationError(Reason.SYSTEM_BUSY, REJECTED)


def refuse_send_back(broker: Broker) -> NoReturn:
    """Refuse a message that a consumer sends back; the consumer then sends it to another broker."""
    if broker.options.enable_slave_acting_master:
        raise OperationError(
            Reason.SYSTEM_ERROR, f"no master available along with {broker.options.broker_ip1}"
        )
    raise OperationError(Reason.SYSTEM_BUSY, REJECTED)


def only_acting(broker: Broker) -> None:
    """Refuse a write unless this slave acts for its master."""
    if broker.pop.away is None:
        raise OperationError(Reason.SYSTEM_BUSY, REJECTED)


# A look-up in an enumeration costs more than the rest of a check.
_NOTHING: Final = Needs.NOTHING
_NO_TRACE: Final = Needs.NO_TRACE

SLAVE_CHECKS: Final[dict[Needs, Callable[[Broker], None]]] = {
    Needs.MASTER: refuse_send,
    Needs.MASTER_OR_OTHER: refuse_send_back,
    Needs.MASTER_OR_ACTING: only_acting,
}
"""Checks that a request passes before a slave serves it as a master does, by the request's need."""


def check_role(broker: Broker, needs: Needs) -> None:
    """Refuse a request that the broker may not serve in its present role. Raises `OperationError`.

    A reader without a trace (`NO_TRACE`) leaves the offset that comes with it alone.
    """
    if broker.store.gate is None or needs is _NOTHING or needs is _NO_TRACE:
        return
    if not broker.role.is_slave:
        refusal = broker.store.refusal
        raise OperationError(Reason.SERVICE_NOT_AVAILABLE, f"service not available now. Here: {refusal}.")
    check = SLAVE_CHECKS.get(needs)
    if check is not None:
        check(broker)
