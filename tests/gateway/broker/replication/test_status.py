"""The state of replication."""

import pytest

from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.replication.status import ha_status
from mqgateway.gateway.codec.codes import RequestCode
from tests.support.gateway.broker.group import Group
from tests.support.gateway.broker.helpers import MemoryBroker

NONE = "Can not get HARuntimeInfo, may be duplicationEnable is true"


def test_a_broker_without_replication_says_so() -> None:
    memory = MemoryBroker()
    with pytest.raises(OperationError) as refused:
        ha_status(memory.broker)
    assert (refused.value.reason, refused.value.message) == (Reason.SYSTEM_ERROR, NONE)
    answer = memory.ask(RequestCode.GET_BROKER_HA_STATUS)
    assert (answer.code, answer.remark) == (1, NONE)


def test_a_master_shows_its_slaves_and_a_slave_its_master() -> None:
    group = Group()
    master, slave = group.master(), group.slave()
    assert ha_status(master.service.broker).master
    assert not ha_status(slave.service.broker).master
