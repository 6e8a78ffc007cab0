"""Bodies against texts as the standard's own classes print them: what clients really send and read."""

import pytest

from gateway.codec.bodies import (
    BrokerData,
    ClusterInfo,
    ConsumerData,
    ConsumerRunningInfo,
    ConsumeStats,
    GetConsumerListByGroupResponseBody,
    GetConsumerStatusBody,
    HARuntimeInfo,
    HeartbeatData,
    KVTable,
    LiteSubscriptionCtlRequestBody,
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    MessageQueueForC,
    OffsetWrapper,
    ProducerData,
    QueueData,
    ResetOffsetBody,
    ResetOffsetBodyForC,
    SubscriptionData,
    SyncStateSet,
    TopicList,
    TopicOffset,
    TopicRouteData,
    TopicStatsTable,
)

QUEUE = MessageQueue("T", "b", 0)

ROUTE = TopicRouteData(
    [QueueData("b1", 8, 8, 6, 0)], [BrokerData("c1", "b1", {0: "10.0.0.7:10911", 1: "10.0.0.8:10911"})]
)
BARE_ROUTE = (
    b'{"brokerDatas":[{"brokerAddrs":{0:"10.0.0.7:10911",1:"10.0.0.8:10911"},"brokerName":"b1","cluster":"c1",'
    b'"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"b1","perm":6,'
    b'"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}]}'
)
QUOTED_ROUTE = BARE_ROUTE.replace(b"{0:", b'{"0":').replace(b",1:", b',"1":')


@pytest.mark.parametrize(
    ("version", "standard_only", "expected"),
    [
        (317, None, BARE_ROUTE),
        (400, False, BARE_ROUTE),
        (401, None, QUOTED_ROUTE),
        (513, False, QUOTED_ROUTE),
        (317, True, QUOTED_ROUTE),
    ],
)
def test_routes_are_written_for_the_clients_version(
    version: int, standard_only: bool | None, expected: bytes
) -> None:
    assert ROUTE.encode_for(version, standard_only) == expected


@pytest.mark.parametrize("text", [BARE_ROUTE, QUOTED_ROUTE])
def test_both_forms_of_a_route_are_read(text: bytes) -> None:
    assert TopicRouteData.decode(text) == ROUTE


def test_a_heartbeat_of_java() -> None:
    text = (
        b'{"clientID":"10.0.0.9@1#5","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET",'
        b'"consumeType":"CONSUME_PASSIVELY","groupName":"G","messageModel":"CLUSTERING","subscriptionDataSet":'
        b'[{"classFilterMode":false,"codeSet":[2567159],"expressionType":"TAG","subString":"TagA","subVersion":'
        b'1700000000000,"tagsSet":["TagA"],"topic":"T"}],"unitMode":false}],"heartbeatFingerprint":0,'
        b'"producerDataSet":[{"groupName":"CLIENT_INNER_PRODUCER"}],"withoutSub":false}'
    )
    heartbeat = HeartbeatData(
        "10.0.0.9@1#5",
        [ProducerData("CLIENT_INNER_PRODUCER")],
        [
            ConsumerData(
                "G",
                "CONSUME_PASSIVELY",
                "CLUSTERING",
                "CONSUME_FROM_LAST_OFFSET",
                [SubscriptionData("T", "TagA", 1700000000000, "TAG", ["TagA"], [2567159])],
            )
        ],
    )
    assert HeartbeatData.decode(text) == heartbeat
    assert heartbeat.encode() == text


def test_a_heartbeat_of_an_old_client() -> None:
    heartbeat = HeartbeatData.decode(
        b'{"clientID":"c","producerDataSet":[],"consumerDataSet":[{"groupName":"G"}]}'
    )
    assert heartbeat.consumer_data_set == [ConsumerData("G")]
    assert (heartbeat.heartbeat_fingerprint, heartbeat.without_sub) == (0, False)


def test_cluster_info_has_bare_ids() -> None:
    info = ClusterInfo({"b1": BrokerData("c1", "b1", {0: "10.0.0.7:10911"})}, {"c1": {"b2", "b1"}})
    assert info.encode() == (
        b'{"brokerAddrTable":{"b1":{"brokerAddrs":{0:"10.0.0.7:10911"},"brokerName":"b1","cluster":"c1",'
        b'"enableActingMaster":false}},"clusterAddrTable":{"c1":["b1","b2"]}}'
    )


def test_statistics_have_queues_as_keys() -> None:
    key = b'{"brokerName":"b","queueId":0,"topic":"T"}'
    assert TopicStatsTable({QUEUE: TopicOffset(1, 2, 3)}).encode() == (
        b'{"offsetTable":{'
        + key
        + b':{"lastUpdateTimestamp":3,"maxOffset":2,"minOffset":1}},"topicPutTps":0.0}'
    )
    assert ConsumeStats({QUEUE: OffsetWrapper(9, 5, 6, 7)}, 1.5).encode() == (
        b'{"consumeTps":1.5,"offsetTable":{'
        + key
        + b':{"brokerOffset":9,"consumerOffset":5,"lastTimestamp":7,"pullOffset":6}}}'
    )


def test_reset_offsets_for_java_and_for_c() -> None:
    assert ResetOffsetBody({QUEUE: 12}).encode() == (
        b'{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:12}}'
    )
    assert ResetOffsetBodyForC([MessageQueueForC("T", "b", 0, 12)]).encode() == (
        b'{"offsetTable":[{"brokerName":"b","offset":12,"queueId":0,"topic":"T"}]}'
    )


def test_what_a_consumer_answers_is_read() -> None:
    status = GetConsumerStatusBody.decode(
        b'{"consumerTable":{},"messageQueueTable":{{"brokerName":"b","queueId":0,"topic":"T"}:12}}'
    )
    assert status.message_queue_table == {QUEUE: 12}
    running = ConsumerRunningInfo.decode(
        b'{"mqTable":{{"brokerName":"b","queueId":0,"topic":"T"}:{"cachedMsgCount":3,"droped":false}},'
        b'"properties":{"PROP_CONSUMER_START_TIMESTAMP":"1"},"statusTable":{"T":{"consumeOKTPS":0.5}}}'
    )
    assert running.mq_table[QUEUE].cached_msg_count == 3
    assert running.status_table["T"].consume_ok_tps == 0.5


def test_locks() -> None:
    request = LockBatchRequestBody.decode(
        b'{"clientId":"c","consumerGroup":"G","mqSet":[{"brokerName":"b","queueId":0,"topic":"T"}]}'
    )
    assert request == LockBatchRequestBody("G", "c", {QUEUE})
    assert LockBatchResponseBody({QUEUE}).encode() == (
        b'{"lockOKMQSet":[{"brokerName":"b","queueId":0,"topic":"T"}]}'
    )


def test_small_tables() -> None:
    assert TopicList({"b", "a"}).encode() == b'{"topicList":["a","b"]}'
    assert KVTable({"k": "v"}).encode() == b'{"table":{"k":"v"}}'
    assert SyncStateSet({2, 1}, 3).encode() == b'{"syncStateSet":[1,2],"syncStateSetEpoch":3}'
    assert GetConsumerListByGroupResponseBody(["c2", "c1"]).encode() == b'{"consumerIdList":["c2","c1"]}'


def test_ha_info() -> None:
    assert HARuntimeInfo(master=True).encode() == (
        b'{"haClientRuntimeInfo":{"activated":false,"lastReadTimestamp":0,"lastWriteTimestamp":0,'
        b'"masterFlushOffset":0,"maxOffset":0,"transferredByteInSecond":0},"haConnectionInfo":[],'
        b'"inSyncSlaveNums":0,"master":true,"masterCommitLogMaxOffset":0}'
    )


def test_a_change_of_lite_subscriptions() -> None:
    body = LiteSubscriptionCtlRequestBody.decode(
        b'{"subscriptionSet":[{"action":"PARTIAL_ADD","clientId":"c","group":"G","liteTopicSet":["x"],'
        b'"offsetOption":{"type":"POLICY","value":0},"topic":"P","version":0}]}'
    )
    (change,) = body.subscription_set
    assert (change.action, change.lite_topic_set, change.topic) == ("PARTIAL_ADD", {"x"}, "P")
