"""Thresholds of cold reads, and reading ahead, by request: 2001 to 2004."""

from __future__ import annotations

import pytest

from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from tests.support.gateway.broker.admin import AdminBroker

SET, REMOVE, SHOW, MODE = (
    RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG,
    RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG,
    RequestCode.GET_COLD_DATA_FLOW_CTR_INFO,
    RequestCode.SET_COMMITLOG_READ_MODE,
)


@pytest.fixture
def broker() -> AdminBroker:
    return AdminBroker()


def test_thresholds_are_set_shown_and_removed(broker: AdminBroker) -> None:
    assert broker.ask(SET, body=b"g=1000\nh=5\n").code == 0
    assert broker.json(SHOW) == {
        "cgColdReadThreshold": 3 * 1024**2,
        "configTable": {"g": 1000, "h": 5},
        "globalAcc": 0,
        "globalColdReadThreshold": 100 * 1024**2,
        "runtimeTable": {},
    }
    assert broker.ask(REMOVE, body=b"g").code == 0
    assert broker.ask(REMOVE, body=b"\xff").code == 0
    assert broker.json(SHOW)["configTable"] == {"h": 5}


@pytest.mark.parametrize(
    "text", [b"g=many", b"g=", b"g=9223372036854775808", b"\xff", b"g" * 2000 + b"=1", b"g=1\nh=x"]
)
def test_invalid_threshold_is_refused_and_not_set(broker: AdminBroker, text: bytes) -> None:
    assert broker.ask(SET, body=text).code == ResponseCode.SYSTEM_ERROR
    assert broker.json(SHOW)["configTable"] == {}


def test_thresholds_are_limited(broker: AdminBroker) -> None:
    broker.options.max_groups = 1
    assert broker.ask(SET, body=b"g=1\nh=2").code == ResponseCode.SYSTEM_ERROR


def test_read_ahead_is_switched(broker: AdminBroker) -> None:
    """By the numbers of madvise: 1 is random, 0 normal."""
    off = broker.ask(MODE, ext={"READ_AHEAD_MODE": "1"})
    assert (off.code, off.remark) == (0, "set commitlog readahead mode success, mode: 1")
    assert not broker.store_options.data_read_ahead_enable
    broker.ask(MODE, ext={"READ_AHEAD_MODE": "0"})
    assert broker.store_options.data_read_ahead_enable


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({}, (ResponseCode.SYSTEM_ERROR, "set commitlog readahead mode param error")),
        ({"other": "1"}, (ResponseCode.SYSTEM_ERROR, "set commitlog readahead mode failed")),
        ({"READ_AHEAD_MODE": "x"}, (ResponseCode.SYSTEM_ERROR, "set commitlog readahead mode failed")),
        ({"READ_AHEAD_MODE": "2"}, (29, "set commitlog readahead mode param value error")),
        ({"READ_AHEAD_MODE": "-1"}, (29, "set commitlog readahead mode param value error")),
    ],
)
def test_refusals_of_modes_have_rocketmqs_texts(
    broker: AdminBroker, fields: dict[str, str], refusal: tuple[int, str]
) -> None:
    answer = broker.ask(MODE, ext=fields)
    assert (answer.code, answer.remark) == refusal
