"""The parts of a broker, made out of its options."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.message import Message
from mqgateway.engine.options import BrokerOptions, OptionSet, StoreOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.broker.assembly import build_broker
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.environment import BrokerEnvironment
from mqgateway.gateway.codec.command import RemotingCommand


class Silence:
    """The other servers, of which none answers."""

    def request(
        self, address: str, command: RemotingCommand, timeout: float = 3.0
    ) -> Deferred[RemotingCommand]:
        return Deferred()


def build(disk: CrashDisk, **options: str) -> Broker:
    broker_options = BrokerOptions(**{"broker_name": "b", "broker_ip1": "10.0.0.1"} | options)
    store_options = StoreOptions(store_path_root_dir="/store", mapped_file_size_commit_log=1 << 16)
    environment = BrokerEnvironment(
        broker_options, store_options, disk, ManualClock(), InlineWorker(), 10911, 10912
    )
    settings = OptionSet(broker_options, store_options)
    return build_broker(environment, settings, client=Silence(), clockwork=Clock(), is_turn=lambda: False)


def test_assembly_writes_nothing() -> None:
    disk = CrashDisk()
    build(disk)
    assert disk.listdir("/") == []


def test_tables_have_rocketmqs_paths() -> None:
    disk = CrashDisk()
    broker = build(disk)
    broker.store.start()
    assert broker.tables.groups.find("g") is not None
    broker.tables.topics.create_for_send("T", "TBW102", 4, 0)
    broker.tables.offsets.commit("g", "T", 0, 1)
    broker.tables.offsets.persist()
    assert set(disk.listdir("/store/config")) >= {
        "topics.json",
        "subscriptionGroup.json",
        "consumerOffset.json",
    }


def test_arriving_message_wakes_held_pulls() -> None:
    """Store and held pulls are joined."""
    broker = build(CrashDisk())
    assert broker.store.on_arrivals is not None
    broker.store.on_arrivals([])


@pytest.mark.parametrize("is_counted", [True, False])
def test_delivered_messages_are_counted_unless_that_is_switched_off(*, is_counted: bool) -> None:
    broker = build(CrashDisk())
    broker.store_options.enable_schedule_message_stats = is_counted
    broker.store.start()
    one = Message("T", 0, b"x", {"DELAY": "1"}, 0, broker.store_host, broker.store_host)
    assert broker.delays.levels.rewrite(one)
    broker.store.put(one)
    broker.store.dispatch()
    assert isinstance(broker.clock, ManualClock)
    broker.clock.advance(2000)
    broker.delays.tick(broker.store.steady.now())
    taken = broker.stats.item("GROUP_GET_NUMS", "SCHEDULE_TOPIC_XXXX@SCHEDULE_CONSUMER")
    assert (taken is not None, broker.stats.put_total) == (is_counted, int(is_counted))


def test_replies_of_a_cluster_do_not_count_as_users_messages() -> None:
    broker = build(CrashDisk())
    broker.stats.put("DefaultCluster_REPLY_TOPIC", 1, 10)
    assert broker.stats.put_total == 0
