from mqgateway.gateway.codec.bodies import (
    ConsumerRunningInfo,
    ConsumeStatus,
    MessageQueue,
    PopProcessQueueInfo,
    ProcessQueueInfo,
    SubscriptionData,
)
from mqgateway.gateway.doctor.evidence import Held, QueueKey, Rates
from mqgateway.gateway.doctor.running import member


def test_running_info_of_a_member_becomes_evidence() -> None:
    info = ConsumerRunningInfo(properties={"PROP_CONSUMEORDERLY": "true"})
    info.subscription_set = [SubscriptionData(topic="T", sub_string="a"), SubscriptionData(topic="%RETRY%G")]
    info.mq_table = {
        MessageQueue("T", "b", 0): ProcessQueueInfo(
            cached_msg_count=3, cached_msg_size_in_mib=1, locked=False
        )
    }
    info.mq_pop_table = {MessageQueue("T", "b", 1): PopProcessQueueInfo(2, False, 9)}
    info.status_table = {"T": ConsumeStatus(consume_rt=5.0, consume_ok_tps=2.0, consume_failed_tps=1.0)}
    found = member("c", "JAVA", info)
    assert (found.client_id, found.language, found.is_ordered, found.wants) == ("c", "JAVA", True, {"T": "a"})
    assert found.holds == {
        QueueKey("T", "b", 0): Held(cached=3, cached_mib=1, lacks_lock=True),
        QueueKey("T", "b", 1): Held(cached=2, last_pull=9),
    }
    assert found.rates == {"T": Rates(2.0, 1.0, 5.0)}
