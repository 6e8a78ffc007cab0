"""Brokers of containers."""

from __future__ import annotations

from mqgateway.gateway.codec.codes import RequestCode
from tests.support.gateway.mqadmin.answers import answering


def test_brokers_come_and_go() -> None:
    tool = answering({})
    assert tool.run("addBroker -c k:1 -b /conf/b.conf") == 0 and tool.out == "add broker to k:1 success\n"
    assert tool.run("removeBroker -c k:1 -b C:broker-a:1") == 0
    assert tool.out == "remove broker from k:1 success\n"
    (_, added), (_, removed) = tool.asked
    assert added.code == RequestCode.ADD_BROKER and added.ext_fields["configPath"] == "/conf/b.conf"
    assert removed.ext_fields == {"brokerClusterName": "C", "brokerName": "broker-a", "brokerId": "1"}


def test_an_identity_has_three_parts() -> None:
    tool = answering({})
    for wrong in ("C:broker-a", "C:broker-a:-1", "C:broker-a:x"):
        assert tool.run(f"removeBroker -c k:1 -b {wrong}") == 2
    assert tool.asked == []
