"""The lines for which tools wait, letter for letter, and the logs they go to."""

import logging

import pytest

from mqgateway.gateway.cli import boot


def test_the_standards_words() -> None:
    assert [
        line.text
        for line in (
            boot.broker_boot_line("broker-a", "10.0.0.1:10911", "10.0.0.2:9876"),
            boot.broker_boot_line("broker-a", "10.0.0.1:10911", ""),
            boot.name_server_boot_line("0.0.0.0", 9876),
            boot.controller_boot_line(is_alone=True),
            boot.controller_boot_line(is_alone=False),
            boot.container_boot_line("10.0.0.2:9876"),
            boot.contained_broker_boot_line("broker-a", 1),
        )
    ] == [
        "The broker[broker-a, 10.0.0.1:10911] boot success. serializeType=JSON and name server is "
        "10.0.0.2:9876",
        "The broker[broker-a, 10.0.0.1:10911] boot success. serializeType=JSON",
        "The Name Server boot success. serializeType=JSON, address 0.0.0.0:9876",
        "The Controller Server boot success. serializeType=JSON",
        "The ControllerManager boot success. serializeType=JSON",
        "The broker container boot success. serializeType=JSON and name server is 10.0.0.2:9876",
        "Broker [broker-a-1] boot success. serializeType=JSON",
    ]


def test_they_are_logged_by_the_server_they_are_of(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    boot.log_boot([boot.name_server_boot_line("", 1), boot.broker_boot_line("100%s", "a:1", "")])
    assert [(record.name, record.getMessage()[:19]) for record in caplog.records] == [
        ("mqgateway.gateway.namesrv", "The Name Server boo"),
        ("mqgateway.gateway.broker", "The broker[100%s, a"),
    ]
