"""907 GET_BROKER_HA_STATUS."""

from mqgateway.gateway.broker.replication.status import ha_status
from mqgateway.gateway.codec.codes import RequestCode
from tests.support.gateway.broker.helpers import MemoryBroker


def test_a_broker_without_replication_says_so() -> None:
    memory = MemoryBroker(requests={RequestCode.GET_BROKER_HA_STATUS: ha_status})
    answer = memory.ask(RequestCode.GET_BROKER_HA_STATUS)
    assert (answer.code, answer.remark) == (1, "Can not get HARuntimeInfo, may be duplicationEnable is true")
