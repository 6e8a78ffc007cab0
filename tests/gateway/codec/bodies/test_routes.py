"""Routes, clusters and tables as name servers print them."""

import pytest

from mqgateway.gateway.codec.bodies import (
    BrokerData,
    BrokerMemberGroup,
    ClusterInfo,
    GetBrokerMemberGroupResponseBody,
    KVTable,
    QueueData,
    TopicList,
    TopicRouteData,
)

ROUTE = TopicRouteData(
    [QueueData("b1", 8, 8, 6, 0)], [BrokerData("c1", "b1", {0: "10.0.0.7:10911", 1: "10.0.0.8:10911"})]
)
BARE_ROUTE = (
    b'{"brokerDatas":[{"brokerAddrs":{0:"10.0.0.7:10911",1:"10.0.0.8:10911"},"brokerName":"b1","cluster":"c1",'
    b'"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"b1","perm":6,'
    b'"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}]}'
)
QUOTED_ROUTE = BARE_ROUTE.replace(b"{0:", b'{"0":').replace(b",1:", b',"1":')


def test_routes_are_written_in_both_forms() -> None:
    """Neither has a blank: Go clients split it at commas and colons."""
    assert (ROUTE.encode(), ROUTE.encode_standard()) == (BARE_ROUTE, QUOTED_ROUTE)


@pytest.mark.parametrize("text", [BARE_ROUTE, QUOTED_ROUTE])
def test_both_forms_of_a_route_are_read(text: bytes) -> None:
    assert TopicRouteData.decode(text) == ROUTE


def test_cluster_info_has_bare_ids() -> None:
    info = ClusterInfo({"b1": BrokerData("c1", "b1", {0: "10.0.0.7:10911"})}, {"c1": {"b2", "b1"}})
    assert info.encode() == (
        b'{"brokerAddrTable":{"b1":{"brokerAddrs":{0:"10.0.0.7:10911"},"brokerName":"b1","cluster":"c1",'
        b'"enableActingMaster":false}},"clusterAddrTable":{"c1":["b1","b2"]}}'
    )


def test_static_topics_keep_their_bare_ids() -> None:
    """Plain JSON values are printed in the form of the rest."""
    route = TopicRouteData(topic_queue_mapping_by_broker={"b": {"currIdMap": {0: 1}}})
    assert b'"topicQueueMappingByBroker":{"b":{"currIdMap":{0:1}}}' in route.encode()
    assert b'"topicQueueMappingByBroker":{"b":{"currIdMap":{"0":1}}}' in route.encode_standard()


def test_a_broker_group() -> None:
    group = GetBrokerMemberGroupResponseBody(BrokerMemberGroup("c1", "b1", {0: "10.0.0.7:10911"}))
    text = b'{"brokerMemberGroup":{"brokerAddrs":{0:"10.0.0.7:10911"},"brokerName":"b1","cluster":"c1"}}'
    assert group.encode() == text
    assert GetBrokerMemberGroupResponseBody.decode(text) == group


def test_small_tables() -> None:
    assert TopicList({"b", "a"}).encode() == b'{"topicList":["a","b"]}'
    assert KVTable({"k": "v"}).encode() == b'{"table":{"k":"v"}}'
