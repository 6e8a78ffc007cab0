"""Brokers that go, together; settings and the file they are written to."""

from collections.abc import Callable

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import NamesrvOptions, OptionSet, Setting
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.namesrv.name_server import NameServer
from mqgateway.gateway.namesrv.registration import Leaving, MinBrokerIdNotice
from tests.support.gateway.namesrv.brokers import MASTER, NOW, OTHER, SLAVE, key, says


class Bench:
    """A name server without a loop: what it wants done later is done by `turn`."""

    def __init__(self, **options: object) -> None:
        self.options = NamesrvOptions(kv_config_path="/ns/kv.json", config_store_path="/ns/ns.properties")
        for name, value in options.items():
            setattr(self.options, name, value)
        self.clock = ManualClock(NOW)
        self.disk = CrashDisk()
        self.later: list[Callable[[], None]] = []
        self.notices: list[MinBrokerIdNotice] = []
        self.namesrv = NameServer(
            self.options,
            settings=OptionSet(self.options),
            clock=self.clock,
            disk=self.disk,
            send_notices=self.notices.extend,
            soon=lambda work: self.later.append(work),
        )

    @property
    def brokers(self) -> set[str]:
        return set(self.namesrv.tables.brokers)

    def turn(self) -> None:
        later, self.later = self.later, []
        for work in later:
            work()


def test_brokers_that_go_together_are_dropped_together() -> None:
    bench = Bench()
    bench.namesrv.tables.register(says(), bench.namesrv.now())
    bench.namesrv.tables.register(says(name="b2", address=OTHER), bench.namesrv.now())
    assert bench.namesrv.leave_soon(Leaving(key(), "b1", 0))
    assert bench.namesrv.leave_soon(Leaving(key(OTHER), "b2", 0))
    assert bench.brokers == {"b1", "b2"}
    assert len(bench.later) == 1
    bench.turn()
    assert bench.brokers == set()


def test_brokers_may_go_again_after_that() -> None:
    bench = Bench()
    for _ in range(2):
        bench.namesrv.tables.register(says(), bench.namesrv.now())
        bench.namesrv.leave_soon(Leaving(key(), "b1", 0))
        bench.turn()
        assert bench.brokers == set()


def test_the_queue_of_those_that_go_is_limited() -> None:
    bench = Bench(max_brokers=2)
    going = Leaving(key(), "b1", 0)
    assert [bench.namesrv.leave_soon(going) for _ in range(3)] == [True, True, False]
    bench.turn()
    assert bench.namesrv.leave_soon(going)


def test_a_lost_connection_takes_its_brokers_with_it() -> None:
    bench = Bench()
    bench.namesrv.tables.register(says(peer="p"), bench.namesrv.now())
    bench.namesrv.tables.register(says(name="b2", address=OTHER, peer="q"), bench.namesrv.now())
    bench.namesrv.connection_lost("p")
    bench.turn()
    assert bench.brokers == {"b2"}


def test_a_broker_not_heard_of_is_dropped_and_its_connection_given_back() -> None:
    bench = Bench()
    bench.namesrv.tables.register(says(heartbeat_timeout=10_000, peer="p"), bench.namesrv.now())
    bench.clock.advance(10_000)
    assert bench.namesrv.drop_expired() == []
    bench.clock.advance(1)
    assert bench.namesrv.drop_expired() == ["p"]
    bench.turn()
    assert bench.brokers == set()


def test_wall_clock_that_jumps_drops_no_broker() -> None:
    bench = Bench()
    bench.namesrv.tables.register(says(), bench.namesrv.now())
    bench.clock.set_wall(NOW + 86_400_000)
    assert bench.namesrv.drop_expired() == []


def test_loss_is_reported() -> None:
    bench = Bench(notify_min_broker_id_changed=True)
    for number, address in ((0, MASTER), (1, SLAVE)):
        bench.namesrv.tables.register(
            says(broker_id=number, address=address, enable_acting_master=True), bench.namesrv.now()
        )
    bench.namesrv.leave_soon(Leaving(key(), "b1", 0))
    bench.turn()
    assert bench.notices == [MinBrokerIdNotice((SLAVE,), "b1", 1, SLAVE, MASTER, None)]


def test_it_is_ready_at_once_unless_it_is_to_wait() -> None:
    assert Bench().namesrv.is_ready()
    bench = Bench(need_wait_for_service=True)
    bench.clock.advance(44_999)
    assert not bench.namesrv.is_ready()
    bench.clock.advance(1)
    assert bench.namesrv.is_ready()


def test_a_wall_clock_set_back_does_not_prolong_the_wait() -> None:
    bench = Bench(need_wait_for_service=True)
    bench.clock.advance(45_000)
    bench.clock.set_wall(0)
    assert bench.namesrv.is_ready()


def test_settings_are_all_taken_or_none() -> None:
    bench = Bench()
    with pytest.raises(ConfigError, match="waitSecondsForService"):
        bench.namesrv.update_settings(
            [Setting("orderMessageEnable", "true"), Setting("waitSecondsForService", "x")]
        )
    assert not bench.options.order_message_enable
    assert not bench.disk.exists("/ns/ns.properties")


def test_unknown_settings_are_passed_over() -> None:
    bench = Bench()
    bench.namesrv.update_settings([Setting("noSuchThing", "1"), Setting("orderMessageEnable", "true")])
    assert bench.options.order_message_enable
    assert b"orderMessageEnable=true" in bench.disk.read_bytes("/ns/ns.properties")
    assert b"noSuchThing" not in bench.disk.read_bytes("/ns/ns.properties")


def test_a_second_update_replaces_the_file_whole() -> None:
    bench = Bench()
    bench.namesrv.update_settings([Setting("productEnvName", "a" * 1000)])
    bench.namesrv.update_settings([Setting("productEnvName", "b")])
    text = bench.disk.crash().read_bytes("/ns/ns.properties")
    assert b"productEnvName=b\n" in text
    assert b"aaa" not in text


def test_some_settings_are_fixed_whatever_the_black_list_says() -> None:
    bench = Bench(config_black_list="listenPort")
    assert bench.namesrv.configuration.black_list == {
        "configBlackList",
        "configStorePath",
        "kvConfigPath",
        "listenPort",
        "rocketmqHome",
    }
