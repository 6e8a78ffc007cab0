"""Three controllers and an etcd of two servers, with real bytes: who answers what, who follows whom."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.controller.shared_place import check_place, open_place
from tests.support.engine.controller.etcd_model import EtcdModel
from tests.support.gateway.controller.etcd_server import EtcdServer
from tests.support.gateway.controller.world import Broker, ControllerWorld
from tests.support.gateway.remoting.pair import Net

PEERS = "n0-127.0.0.1:9870;n1-127.0.0.1:9871;n2-127.0.0.1:9872"
ETCD = "http://127.0.0.1:2379;http://127.0.0.1:2380"


class Group:
    """The controllers, by number; time moves the place too."""

    def __init__(self) -> None:
        self.net, self.model = Net(), EtcdModel()
        self.etcd = [EtcdServer(self.net, port, self.model) for port in (2379, 2380)]
        self.worlds = [self.controller(number) for number in range(3)]
        self.wait(1)

    def controller(self, number: int) -> ControllerWorld:
        return ControllerWorld(
            CrashDisk(),
            net=self.net,
            controller_d_leger_peers=PEERS,
            controller_d_leger_self_id=f"n{number}",
            controller_etcd_endpoints=ETCD,
        )

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds * 2)):
            self.net.settle(0.5)
            self.model.advance(round(self.net.seconds() * 1000))

    def metadata(self, number: int) -> dict[str, Any]:
        return dict(self.worlds[number].caller().ask(RequestCode.CONTROLLER_GET_METADATA_INFO).ext_fields)

    def heartbeats_for(self, seconds: float, *brokers: Broker) -> None:
        for _ in range(round(seconds)):
            for broker in brokers:
                broker.heartbeat()
            self.wait(1)

    def stop(self, number: int) -> list[object]:
        stopped: list[object] = []
        outcome: Deferred[None] = self.worlds[number].service.stop()
        outcome.addCallback(stopped.append)
        return stopped


def test_every_controller_reports_who_leads_and_one_answers() -> None:
    group = Group()
    assert group.metadata(0) == {
        "group": "g1",
        "controllerLeaderId": "n0",
        "controllerLeaderAddress": "127.0.0.1:9870",
        "isLeader": "true",
        "peers": "n0:127.0.0.1:9870;n1:127.0.0.1:9871;n2:127.0.0.1:9872;",
    }
    follower = group.metadata(1)
    assert (follower["controllerLeaderId"], follower["isLeader"]) == ("n0", "false")
    refused = group.worlds[1].broker(1).next_id()
    assert (refused.code, refused.remark) == (2007, "The controller is not in leader state")
    assert group.worlds[0].broker(1).next_id().code == 0
    assert group.worlds[0].service.entries == 0


def test_the_next_leader_has_the_sets_and_elects_at_once_where_it_saw_a_master_go() -> None:
    group = Group()
    first, second = group.worlds[0].pair()
    seen_by_next, slave_at_next = group.worlds[1].broker(1), group.worlds[1].broker(2)
    for broker in (seen_by_next, slave_at_next):
        broker.heartbeat()
    group.worlds[2].service.controller.stop()
    stopped = group.stop(2)
    group.wait(1)
    assert stopped
    del group.net.ports[9870]
    group.worlds[0].service.controller.stop()
    group.worlds[0].service._schedule.stop()  # killed, as far as the others can tell
    first.lose()
    second.lose()
    seen_by_next.lose()
    group.heartbeats_for(6, slave_at_next)
    assert group.metadata(1)["isLeader"] == "true"
    known = group.worlds[1].service.controller.state.sets["brk"]
    assert (known.master, known.master_epoch) == (2, 2)
    assert slave_at_next.info().ext_fields["masterBrokerId"] == "2"


def test_a_stop_lets_another_one_lead_at_once() -> None:
    group = Group()
    stopped = group.stop(0)
    group.wait(1.5)
    assert stopped
    assert "true" in (group.metadata(1)["isLeader"], group.metadata(2)["isLeader"])


def test_without_etcd_no_controller_answers_and_with_it_again_one_does() -> None:
    group = Group()
    brokers = list(group.worlds[0].pair())
    brokers += [world.broker(number) for world in group.worlds[1:] for number in (1, 2)]
    for server in group.etcd:
        server.silent = True
    group.heartbeats_for(6, *brokers)
    for number in range(3):
        found = group.metadata(number)
        assert found["isLeader"] == "false" and "controllerLeaderId" not in found
        assert group.worlds[number].broker(1).info().code == 2007
    for server in group.etcd:
        server.silent = False
    group.heartbeats_for(8, *brokers)
    (leader,) = [number for number in range(3) if group.metadata(number)["isLeader"] == "true"]
    assert group.worlds[leader].broker(1).info().ext_fields["masterBrokerId"] == "1"


def test_one_server_of_etcd_that_hangs_does_not_cost_the_lead() -> None:
    group = Group()
    group.etcd[0].silent = True
    for _ in range(10):
        group.wait(1)
        assert group.metadata(0)["isLeader"] == "true"


def options(**more: Any) -> ControllerOptions:
    usual: dict[str, Any] = {"controller_d_leger_group": "g1", "controller_etcd_endpoints": ETCD}
    return ControllerOptions(**(usual | more))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"controller_d_leger_group": ""}, "controllerDLegerGroup"),
        ({"controller_d_leger_group": "a/b"}, "controllerDLegerGroup"),
        ({"controller_etcd_endpoints": "a:1"}, "controllerEtcdEndpoints"),
        ({"controller_etcd_user": "root"}, "controllerEtcdPassword"),
        ({"controller_etcd_password": "secret"}, "controllerEtcdUser"),
        ({"controller_etcd_cert_file": "/c"}, "controllerEtcdKeyFile"),
    ],
)
def test_settings_that_name_no_place_are_refused(wrong: dict[str, str], named: str) -> None:
    check_place(options())
    with pytest.raises(ConfigError, match=named):
        check_place(options(**wrong))


def test_files_that_cannot_be_used_are_named() -> None:
    wrong = options(controller_etcd_endpoints="https://a:1", controller_etcd_ca_file="/nowhere")
    with pytest.raises(ConfigError, match="controllerEtcdCaFile"):
        open_place(wrong, Net(), CrashDisk())
