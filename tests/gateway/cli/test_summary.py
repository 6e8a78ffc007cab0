"""The start-up summary: the chosen address, the warnings, the output."""

import json

import pytest

from mqgateway.gateway.cli.summary import (
    BrokerLine,
    Summary,
    accepted_clients,
    default_advertise,
    local_addresses,
    reach_warnings,
)
from mqgateway.gateway.front_ends import FRONT_ENDS


@pytest.mark.parametrize(
    ("addresses", "chosen"),
    [
        (["10.0.0.5", "192.168.1.2", "127.0.0.1"], "10.0.0.5"),
        (["192.168.1.2", "192.168.1.3", "127.0.0.1"], "192.168.1.3"),
        (["127.0.0.1"], "127.0.0.1"),
        ([], "127.0.0.1"),
    ],
)
def test_advertised_address_by_the_preference_of_rocketmq(addresses: list[str], chosen: str) -> None:
    assert default_advertise(addresses) == chosen


OWN = ["10.0.0.5", "127.0.0.1"]


@pytest.mark.parametrize(
    ("advertised", "bind", "container", "says"),
    [
        ("10.0.0.5", "0.0.0.0", False, []),
        ("mq.example.org", "0.0.0.0", False, []),
        ("127.0.0.1", "127.0.0.1", False, []),
        ("127.0.0.1", "0.0.0.0", False, ["other machines cannot reach"]),
        ("10.0.0.5", "0.0.0.0", True, ["in a container"]),
        ("203.0.113.9", "0.0.0.0", False, ["not an address of this machine"]),
        ("10.0.0.5", "127.0.0.1", False, ["listening on 127.0.0.1 only"]),
    ],
)
def test_warnings_when_clients_could_not_reach_it(
    advertised: str, bind: str, container: bool, says: list[str]
) -> None:
    warnings = reach_warnings(advertised, bind, OWN, container)
    assert len(warnings) == len(says)
    assert all(text in warning for text, warning in zip(says, warnings, strict=True))


def test_this_machine_has_loopback_last() -> None:
    assert local_addresses()[-1].startswith("127.")


def test_access_notice_depends_on_the_bind_address() -> None:
    for bind in ("0.0.0.0", "", "::", "10.0.0.1"):
        said = accepted_clients(bind)
        assert said.startswith("all clients that can reach these ports may read, write and administer")
        assert all(way in said for way in ("firewall", "--bind", "--advertise", "access control is off"))
    for bind in ("127.0.0.1", "::1", "localhost"):
        assert accepted_clients(bind).startswith("all clients on this machine: ")


def test_with_access_control_it_is_said_what_stays_open() -> None:
    said = accepted_clients("0.0.0.0", authenticates=True, authorizes=True)
    assert "slaves that sign." in said and "name server" not in said and "everybody" not in said
    said = accepted_clients(
        "0.0.0.0", authenticates=True, authorizes=True, has_open_name_server=True, allowed_slaves="10.0.0.7"
    )
    assert "and 10.0.0.7 (haAllowedSlaves)" in said
    assert said.startswith("the users of this server, limited by policies; the name server")
    assert "all clients that can reach these ports" in said
    assert "since authorizationEnabled=false" in accepted_clients("127.0.0.1", authenticates=True)
    assert "all clients on this machine" in accepted_clients(
        "127.0.0.1", authenticates=True, has_open_name_server=True
    )
    accounts = accepted_clients("0.0.0.0", has_accounts=True)
    assert accounts.startswith("the accounts of aclEnable, limited by their permissions; the name server")


def test_the_summary_as_lines_and_as_json() -> None:
    summary = Summary(
        name_server="127.0.0.1:9876",
        broker="127.0.0.1:10911",
        broker_name="b",
        cluster="c",
        data="/data",
        started_in=0.4567,
        open_to="everybody",
        warnings=["mind the gap"],
    )
    assert summary.lines() == [
        "name server  127.0.0.1:9876   (clients: namesrvAddr=127.0.0.1:9876)",
        "broker       127.0.0.1:10911   (b of c, as clients see it)",
        "data         /data",
        "open to      everybody",
        "warning      mind the gap",
        "ready in 0.46 s",
    ]
    assert json.loads(json.dumps(summary.as_json()))["startedInSeconds"] == 0.457


def test_several_brokers_have_a_line_each() -> None:
    grpc, _, page = FRONT_ENDS
    lines = [
        BrokerLine("n-0", "h:10911", [(grpc, "h:8081"), (page, "http://h:8088")]),
        BrokerLine("n-1", "h:10921"),
    ]
    summary = Summary("h:9876", "h:10911", "n-0", "C", "/d", 1.0, "all", brokers=lines)
    assert summary.lines()[1:3] == [
        "broker       h:10911   (n-0 of C; gRPC h:8081)",
        "broker       h:10921   (n-1 of C)",
    ]
    assert summary.as_json()["brokers"] == [
        {"name": "n-0", "address": "h:10911", "grpc": "h:8081", "console": "http://h:8088"},
        {"name": "n-1", "address": "h:10921"},
    ]
