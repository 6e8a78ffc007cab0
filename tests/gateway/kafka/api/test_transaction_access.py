"""Rights on transactional ids."""

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.kafka.api.transaction_access import PRODUCING, SHOWING, id_error
from mqgateway.gateway.kafka.call import Address, KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.headers import RequestHeader
from tests.gateway.kafka.test_coordination import become
from tests.support.gateway.kafka.broker import KafkaBroker


def error(kafka: KafkaBroker, operation: AclOperation) -> E:
    """Return the error of a request about the id `my.id`."""
    header = RequestHeader(22, 5, 1, "tester")
    call = KafkaCall(header, kafka.peer, Address("10.0.0.1", 9092), kafka.operations)
    return id_error(call, "my.id", operation)


@pytest.mark.parametrize(
    ("denied", "expected"),
    [
        ((), (E.NONE, E.NONE)),
        ((AclOperation.WRITE,), (E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, E.NONE)),
        ((AclOperation.WRITE, AclOperation.DESCRIBE), (E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,) * 2),
    ],
)
def test_producers_need_write_on_the_id(denied: tuple[AclOperation, ...], expected: tuple[E, E]) -> None:
    kafka = KafkaBroker()
    kafka.rights.denied |= {("my%2Eid", operation) for operation in denied}
    assert (error(kafka, PRODUCING), error(kafka, SHOWING)) == expected


def test_slave_has_no_ids() -> None:
    kafka = KafkaBroker()
    become(kafka, RoleKind.SLAVE)
    assert error(kafka, PRODUCING) == E.NOT_COORDINATOR
