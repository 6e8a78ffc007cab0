"""The broker as a whole: its settings, its figures, its counts, and cleaning up by hand."""

import pytest

from mqgateway.engine.lenient_json import loads
from mqgateway.engine.steps import run
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import ViewBrokerStatsDataRequestHeader
from tests.support.gateway.broker.admin import AdminBroker
from tests.support.gateway.broker.helpers import FakePeer

UPDATE = RequestCode.UPDATE_BROKER_CONFIG

STANDARD_KEYS = """
EndTransactionQueueSize EndTransactionThreadPoolQueueCapacity ackThreadPoolQueueCapacity
ackThreadPoolQueueHeadWaitTimeMills ackThreadPoolQueueSize bootTimestamp brokerActive brokerVersionDesc
commitLogDirCapacity commitLogDiskRatio commitLogDiskRatio_/store/commitlog commitLogMaxOffset
commitLogMinOffset consumeQueueDiskRatio dispatchBehindBytes dispatchMaxBuffer earliestMessageTimeStamp
getFoundTps getMessageEntireTimeMax getMissTps getTotalTps getTransferredTps litePullThreadPoolQueueCapacity
litePullThreadPoolQueueHeadWaitTimeMills litePullThreadPoolQueueSize msgGetTotalTodayMorning
msgGetTotalTodayNow msgGetTotalYesterdayMorning msgPutTotalTodayMorning msgPutTotalTodayNow
msgPutTotalYesterdayMorning pageCacheLockTimeMills pullThreadPoolQueueCapacity
pullThreadPoolQueueHeadWaitTimeMills pullThreadPoolQueueSize putLatency99 putLatency999 putMessageAverageSize
putMessageDistributeTime putMessageEntireTimeMax putMessageFailedTimes putMessageSizeTotal
putMessageTimesTotal putTps queryThreadPoolQueueCapacity queryThreadPoolQueueHeadWaitTimeMills
queryThreadPoolQueueSize remainHowManyDataToFlush remainTransientStoreBufferNumbs runtime
sendThreadPoolQueueCapacity sendThreadPoolQueueHeadWaitTimeMills sendThreadPoolQueueSize
startAcceptSendRequestTimeStamp timerCongestNum timerDequeueTps timerEnqueueTps timerOffsetBehind
timerReadBehind
"""
"""What Apache's broker 5.5.0 answers to request 28 when nothing was ever sent to it."""


@pytest.fixture
def broker() -> AdminBroker:
    return AdminBroker()


def figures(broker: AdminBroker) -> dict[str, str]:
    table: dict[str, str] = broker.json(RequestCode.GET_BROKER_RUNTIME_INFO)["table"]
    return table


def test_figures_have_rocketmqs_names(broker: AdminBroker) -> None:
    assert set(figures(broker)) == set(STANDARD_KEYS.split())


def test_figures_count_messages(broker: AdminBroker) -> None:
    broker.add_topic("T")
    broker.fill("T", 3)
    broker.subscribe("g", "T")
    broker.pull("T", group="g")
    table = figures(broker)
    assert (table["msgPutTotalTodayNow"], table["msgGetTotalTodayNow"]) == ("3", "3")
    assert table["putMessageTimesTotal"] == "3"
    assert table["brokerVersionDesc"] == "V5_5_0"
    assert table["sendThreadPoolQueueCapacity"] == "10000"
    assert table["commitLogMaxOffset"] == str(broker.broker.store.max_physical_offset)


def test_refusals_are_shown_by_their_cause(broker: AdminBroker) -> None:
    """There is no such figure while nothing was refused."""
    broker.broker.flow_control.count("cold data")
    assert figures(broker)["flowControl_cold_data"] == "1"


def test_inconsistent_groups_are_shown_and_counted(broker: AdminBroker) -> None:
    """They lose messages without any error; there is no such figure while all agree."""
    broker.subscribe("g", "T", "a")
    broker.subscribe("g", "T", "b", peer=FakePeer("10.0.0.9:1"))
    assert figures(broker)["inconsistentConsumerGroups"] == "1: g"
    asked = ViewBrokerStatsDataRequestHeader(stats_name="INCONSISTENT_SUBSCRIPTION_NUMS", stats_key="g")
    broker.clock.advance(10_000)
    run(broker.broker.stats.tick(broker.clock.millis(), 0))
    assert broker.json(RequestCode.VIEW_BROKER_STATS_DATA, asked)["statsMinute"]["sum"] == 1
    broker.broker.stats.group_deleted("g")
    assert broker.broker.stats.item("INCONSISTENT_SUBSCRIPTION_NUMS", "g") is None


def test_used_delay_levels_show_their_offsets(broker: AdminBroker) -> None:
    broker.add_topic("T")
    for _ in range(2):
        broker.send("T", properties={"DELAY": "1"})
    broker.wait(1000)
    broker.send("T", properties={"DELAY": "1"})
    assert figures(broker)["scheduleMessageOffset_1"] == "2,3"


def test_settings_are_shown_with_their_version(broker: AdminBroker) -> None:
    answer = broker.ask(RequestCode.GET_BROKER_CONFIG)
    lines = answer.arrived.body.decode().splitlines()
    assert "autoCreateTopicEnable=true" in lines and "brokerName=broker-a" in lines
    assert "flushDiskType=ASYNC_FLUSH" in lines
    assert loads(answer.ext["version"])["counter"] == 0


def test_settings_are_changed(broker: AdminBroker) -> None:
    body = b"autoCreateTopicEnable=false\nfileReservedTime : 24\n"
    assert broker.ask(UPDATE, body=body).code == 0
    assert broker.options.auto_create_topic_enable is False
    assert broker.store_options.file_reserved_time == 24
    assert loads(broker.ask(RequestCode.GET_BROKER_CONFIG).ext["version"])["counter"] == 1


def test_no_setting_is_changed_when_one_is_wrong(broker: AdminBroker) -> None:
    code, remark = broker.refusal(UPDATE, body=b"autoCreateTopicEnable=false\nautoCreateTopicEnabel=1")
    assert code == ResponseCode.INVALID_PARAMETER
    assert remark == "request: autoCreateTopicEnabel=1: no such property; did you mean autoCreateTopicEnable?"
    assert broker.options.auto_create_topic_enable is True


@pytest.mark.parametrize("key", ["configBlackList", "brokerConfigPath", "rocketmqHome"])
def test_some_settings_are_not_for_requests(broker: AdminBroker, key: str) -> None:
    assert broker.refusal(UPDATE, body=f"{key}=x".encode()) == (16, "Can not update config in black list.")


def test_settings_read_at_start_only_are_refused(broker: AdminBroker) -> None:
    code, remark = broker.refusal(UPDATE, body=b"authenticationEnabled=true")
    assert code == ResponseCode.INVALID_PARAMETER and "restart" in str(remark)
    code, remark = broker.refusal(UPDATE, body=b"storePathRootDir=/elsewhere")
    assert code == ResponseCode.INVALID_PARAMETER and "storePathRootDir" in str(remark)
    assert broker.store_options.store_path_root_dir == "/store"


def test_text_in_another_encoding_is_refused_with_a_remedy(broker: AdminBroker) -> None:
    code, remark = broker.refusal(UPDATE, body=b"\xff\xfea\0=\0")
    assert code == ResponseCode.INVALID_PARAMETER and "save it as UTF-8" in str(remark)


def test_live_setting_without_a_file_is_answered_with_a_note(broker: AdminBroker) -> None:
    answer = broker.ask(UPDATE, body=b"traceOn=false")
    assert (answer.code, broker.options.trace_on) == (0, False)
    assert answer.remark == "not kept beyond a restart: there is no settings file; name one with -c"


def test_setting_that_takes_effect_after_a_restart_is_refused_without_a_file(broker: AdminBroker) -> None:
    """Success would be a lie: nothing would change, now or ever."""
    for body in (b"aclEnable=true", b"flushDiskType=SYNC_FLUSH", b"messageDelayLevel=1s"):
        code, remark = broker.refusal(UPDATE, body=body)
        assert code == ResponseCode.INVALID_PARAMETER and "takes effect after a restart" in str(remark)
    assert not broker.options.acl_enable


@pytest.mark.parametrize(
    ("body", "address", "ha_address"),
    [
        (b"brokerIP1=10.9.9.9", "10.9.9.9:10911", "10.0.0.1:10912"),
        (b"brokerIP1=10.9.9.9\nlistenPort=40000", "10.9.9.9:40000", "10.0.0.1:10912"),
        (b"brokerIP2=10.9.9.8\nhaListenPort=40001", "10.0.0.1:10911", "10.9.9.8:40001"),
    ],
)
def test_announced_address_is_taken_live_and_the_listeners_stay(
    broker: AdminBroker, body: bytes, address: str, ha_address: str
) -> None:
    broker.options.broker_ip1 = broker.options.broker_ip2 = "10.0.0.1"
    reported: list[int] = []
    broker.broker.cluster.registration.soon = lambda topic=None: reported.append(1)  # type: ignore[method-assign]
    assert broker.ask(UPDATE, body=body).code == 0
    environment = broker.broker.environment
    assert (environment.address, environment.ha_address) == (address, ha_address)
    assert (environment.port, environment.ha_port) == (10911, 10912)
    assert reported == [1]


def test_changed_permission_is_announced(broker: AdminBroker) -> None:
    reported: list[int] = []
    broker.broker.cluster.registration.soon = lambda: reported.append(1)
    before = broker.broker.tables.topics.data_version.counter
    broker.ask(UPDATE, body=b"traceOn=false")
    assert reported == [] and broker.broker.tables.topics.data_version.counter == before
    broker.ask(UPDATE, body=b"brokerPermission=4")
    assert reported == [1] and broker.broker.tables.topics.data_version.counter == before + 1


def test_a_count_is_shown_over_a_minute_an_hour_and_a_day(broker: AdminBroker) -> None:
    broker.add_topic("T")
    header = ViewBrokerStatsDataRequestHeader(stats_name="TOPIC_PUT_NUMS", stats_key="T")
    assert broker.refusal(RequestCode.VIEW_BROKER_STATS_DATA, header) == (
        1,
        "The stats <TOPIC_PUT_NUMS> <T> not exist",
    )
    broker.fill("T", 5)
    run(broker.broker.stats.tick(broker.clock.millis() + 10_000, 10_000))
    found = broker.json(RequestCode.VIEW_BROKER_STATS_DATA, header)
    assert set(found) == {"statsMinute", "statsHour", "statsDay"}
    assert found["statsMinute"]["sum"] == 5
    assert found["statsMinute"]["avgpt"] == 1.0


def test_queues_of_deleted_topics_are_removed(broker: AdminBroker) -> None:
    broker.add_topic("T")
    broker.add_topic("U")
    broker.fill("T", 1)
    broker.fill("U", 1)
    broker.broker.tables.topics.delete("T")
    assert broker.ask(RequestCode.CLEAN_UNUSED_TOPIC).code == 0
    assert set(broker.broker.store.queues()) == {"U"}


@pytest.mark.parametrize(
    "code", [RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE, RequestCode.DELETE_EXPIRED_COMMITLOG]
)
def test_expired_files_are_deleted_at_any_hour(code: RequestCode) -> None:
    broker = AdminBroker(store_options={"mapped_file_size_commit_log": 4096, "delete_when": "99"})
    broker.add_topic("T", queues=1)
    broker.fill("T", 40)
    broker.clock.advance(100 * 3_600_000)
    for _ in range(3):
        assert broker.ask(code).code == 0
        broker.wait(1000)
    assert broker.broker.store.min_physical_offset > 0
