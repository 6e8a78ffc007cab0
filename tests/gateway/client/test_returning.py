"""The way back of messages that could not be consumed."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from mqgateway.engine.message import parse_properties
from mqgateway.gateway.client.returning import INNER_GROUP, Returns
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import ConsumerSendMsgBackRequestHeader, SendMessageRequestHeaderV2
from tests.gateway.client.test_push import Inbox, begin, refuse, send
from tests.support.gateway.client.cluster import Cluster, requests_seen


def test_broker_gets_what_it_needs() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 1)
        seen = requests_seen(cluster)
        inbox = Inbox(False)
        begin(cluster, inbox, max_reconsume_times=5, unit_mode=True)
        cluster.wait_for(lambda: inbox.got)
        (command,) = [one for one in seen if one.code == RequestCode.CONSUMER_SEND_MSG_BACK]
        header = ConsumerSendMsgBackRequestHeader.decode(command.ext_fields)
        assert (header.group, header.origin_topic, header.delay_level) == ("G", "T", 0)
        assert (header.max_reconsume_times, header.unit_mode, header.bname) == (5, True, "broker-a")
        assert header.offset == inbox.got[0].physical_offset
        assert header.origin_msg_id == inbox.got[0].message_id


def test_message_sent_again_is_counted_and_remembers_its_origin() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 1)
        inbox = Inbox(False)
        begin(cluster, inbox)
        refuse(cluster, RequestCode.CONSUMER_SEND_MSG_BACK)
        seen = requests_seen(cluster)
        cluster.wait_for(lambda: inbox.got)
        cluster.settle()
        (command,) = [one for one in seen if one.code == RequestCode.SEND_MESSAGE_V2]
        header = SendMessageRequestHeaderV2.decode(command.ext_fields)
        properties = parse_properties(header.properties or "")
        assert (header.producer_group, header.topic) == (INNER_GROUP, "%RETRY%G")
        assert (header.reconsume_times, header.max_reconsume_times) == (1, 16)
        assert (properties["RETRY_TOPIC"], properties["DELAY"]) == ("T", "3")
        assert properties["ORIGIN_MESSAGE_ID"] == inbox.got[0].message_id


def test_several_consumers_of_a_client_have_one_way() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        consumer = begin(cluster, Inbox())
        another = Returns(consumer, cluster.around, 16)
        cluster.run(Deferred.fromCoroutine(another.start()))
        assert list(consumer.client.producers) == [INNER_GROUP]
        cluster.run(Deferred.fromCoroutine(another.close()))
        assert list(consumer.client.producers) == [INNER_GROUP]
