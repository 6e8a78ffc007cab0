"""Which request of a broker has which limit."""

from mqgateway.engine.options import BrokerOptions, RemotingOptions
from mqgateway.gateway.broker.body_limits import limits_of_bodies
from mqgateway.gateway.broker.requests import REQUESTS
from mqgateway.gateway.codec.codes import RequestCode


def test_all_requests_except_sends_have_a_limit() -> None:
    limits = limits_of_bodies(REQUESTS, RemotingOptions(), BrokerOptions())
    without = {RequestCode(code).name for code in REQUESTS if code not in limits}
    assert without == {
        "SEND_MESSAGE",
        "SEND_MESSAGE_V2",
        "SEND_BATCH_MESSAGE",
        "SEND_REPLY_MESSAGE",
        "SEND_REPLY_MESSAGE_V2",
    }
    assert limits[RequestCode.HEART_BEAT].parts == "max_heartbeat_parts"
    assert limits[RequestCode.UPDATE_AND_CREATE_TOPIC_LIST].size == "max_list_size"
    assert limits[RequestCode.UNLOCK_BATCH_MQ].size == "max_body_size"
