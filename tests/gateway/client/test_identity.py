"""Client ids and message ids."""

from __future__ import annotations

import datetime

from mqgateway.gateway.client.identity import MessageIds, client_id, month_start, own_ip
from mqgateway.gateway.client.options import ClientOptions

NOW = 1_700_000_000_000


def test_a_client_id_is_made_of_address_instance_and_unit() -> None:
    options = ClientOptions(unit_name="unit")
    ip, instance, unit = client_id(options, "10.0.0.2", pid=42).split("@")
    assert (ip, unit) == ("10.0.0.2", "unit") and instance.startswith("42#")
    assert client_id(options, "10.0.0.2") != client_id(options, "10.0.0.2")


def test_instances_may_be_named() -> None:
    assert client_id(ClientOptions(instance_name="mine", client_ip="1.2.3.4"), "x") == "1.2.3.4@mine"
    assert client_id(ClientOptions(), "10.0.0.2", named=True) == "10.0.0.2@DEFAULT"


def test_message_ids_hold_address_process_and_time_since_the_month_began() -> None:
    ids = MessageIds("10.0.0.2", 0x1234, 0xABCD)
    first = ids.next(NOW)
    assert first.startswith("0A00000212340000ABCD") and len(first) == 32
    assert int(first[20:28], 16) == NOW - month_start(NOW)
    assert len({ids.next(NOW) for _ in range(1000)}) == 1000


def test_new_month_starts_over() -> None:
    ids = MessageIds("10.0.0.2", 1, 1)
    ids.next(NOW)
    later = NOW + 40 * 86_400_000
    assert int(ids.next(later)[20:28], 16) == later - month_start(later)


def test_months_begin_by_local_time() -> None:
    begin = datetime.datetime.fromtimestamp(month_start(NOW) / 1000)
    assert (begin.day, begin.hour, begin.minute, begin.second) == (1, 0, 0, 0)


def test_addresses_of_all_kinds() -> None:
    assert len(MessageIds("::1", 1, 1).next(NOW)) == 56
    assert MessageIds("a-name", 1, 1).next(NOW).startswith("7F000001")
    assert own_ip("127.0.0.1:9876") == "127.0.0.1"
    assert own_ip("no such host:1") == "127.0.0.1"
