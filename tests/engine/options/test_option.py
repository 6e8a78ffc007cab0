"""One setting: its text, its range, its names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.options import BrokerOptions, FlushDiskType, StoreOptions, TlsOptions
from mqgateway.engine.options.option import (
    INT_MAX,
    BadValue,
    Option,
    accepted,
    camel_case,
    format_value,
    options_of,
    snake_case,
)


def declared(attribute: str) -> Option:
    classes = (BrokerOptions, StoreOptions, TlsOptions)
    return next(o for c in classes for o in options_of(c) if o.attribute == attribute)


def refused(attribute: str, text: str) -> BadValue:
    with pytest.raises(BadValue) as caught:
        declared(attribute).parse(text)
    return caught.value


def test_blanks_around_a_value_do_not_count() -> None:
    """RocketMQ reads `true ` as false and ` 4` as the default."""
    assert declared("auto_create_topic_enable").parse(" true ") is True
    assert declared("default_topic_queue_nums").parse("\t16 ") == 16


@pytest.mark.parametrize("text", ["true", "TRUE", "True"])
def test_a_boolean_is_true_in_any_case(text: str) -> None:
    assert declared("long_polling_enable").parse(text) is True


@pytest.mark.parametrize(
    ("text", "meant"), [("yes", "true"), ("0", "false"), ("flase", "false"), ("ture", "true"), ("?", "")]
)
def test_anything_else_is_no_boolean(text: str, meant: str) -> None:
    assert refused("long_polling_enable", text).suggestion == meant


def test_an_enumeration_takes_its_names_only() -> None:
    assert declared("flush_disk_type").parse("SYNC_FLUSH") is FlushDiskType.SYNC_FLUSH
    assert refused("flush_disk_type", "sync_flush").suggestion == "SYNC_FLUSH"
    assert "ASYNC_FLUSH, SYNC_FLUSH" in refused("flush_disk_type", "often").what


@pytest.mark.parametrize("text", ["", "4.5", "4k", "four", "1_000", "0x10", "٣"])
def test_a_number_is_decimal_digits(text: str) -> None:
    assert refused("default_topic_queue_nums", text).what == "not a whole number"


def test_a_number_keeps_its_range() -> None:
    assert refused("default_topic_queue_nums", "0").suggestion == "1"
    assert refused("listen_port", "65536").suggestion == "65535"
    assert refused("file_reserved_time", str(INT_MAX + 1)).suggestion == str(INT_MAX)
    assert "digits" in refused("file_reserved_time", "9" * 5000).what


@pytest.mark.parametrize(("text", "size"), [("64m", 64 << 20), ("1 GiB", 1 << 30), ("16kb", 16 << 10)])
def test_bytes_may_have_a_unit(text: str, size: int) -> None:
    assert declared("mapped_file_size_commit_log").parse(text) == size


def test_unsupported_value_is_refused_with_the_reason() -> None:
    """A broker that is configured to keep its queues in a database must not keep them in files."""
    bad = refused("store_type", "defaultRocksDB")
    assert "RocksDB" in bad.what
    assert bad.suggestion == "default"
    assert declared("store_type").parse("default") == "default"


def test_accepted_properties_get_their_type_from_their_default() -> None:
    a, b, c, d, e = accepted("why", "a=true b=-1 c=0.8\n d= e=05")
    assert (a.default, b.default, c.default, d.default, e.default) == (True, -1, 0.8, "", "05")
    assert all(option.no_effect == "why" and not option.attribute for option in (a, b, c, d, e))
    assert c.parse("0.5") == 0.5
    with pytest.raises(BadValue):
        c.parse("half")
    with pytest.raises(BadValue):
        b.parse("many")


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("flushDiskType", "flush_disk_type"),
        ("brokerIP1", "broker_ip1"),
        ("checkCRCOnRecover", "check_crc_on_recover"),
        ("tls.server.need.client.auth", "tls_server_need_client_auth"),
        ("useTLS", "use_tls"),
    ],
)
def test_attributes_are_the_names_in_snake_case(name: str, attribute: str) -> None:
    assert snake_case(name) == attribute


@given(st.lists(st.from_regex(r"[a-z]{2,6}", fullmatch=True), min_size=1, max_size=5))
def test_camel_case_is_undone_by_snake_case(words: list[str]) -> None:
    attribute = "_".join(words)
    assert snake_case(camel_case(attribute)) == attribute


def test_values_are_written_as_they_are_read() -> None:
    for options_class in (BrokerOptions, StoreOptions, TlsOptions):
        for option in options_of(options_class):
            assert option.parse(format_value(option.default)) == option.default
