"""Reserved names, and the remarks for illegal ones."""

from mqgateway.engine.names import is_system_group, is_system_topic, validate_group, validate_topic


def test_reserved_names() -> None:
    assert is_system_topic("SCHEDULE_TOPIC_XXXX")
    assert is_system_topic("rmq_sys_anything")
    assert not is_system_topic("orders")
    assert is_system_group("CID_RMQ_SYS_TRANS")
    assert not is_system_group("CID_orders")


def test_topic_remarks() -> None:
    assert validate_topic("orders") is None
    assert validate_topic("%RETRY%" + "g" * 240) is None
    assert validate_topic(" ") == "The specified topic is blank."
    assert validate_topic("a b") == (
        "The specified topic: a b, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
    )
    long = "t" * 128
    assert validate_topic(long) == f"The specified topic: {long}, is longer than topic max length: 127"
    long = "%DLQ%" + "t" * 251
    assert validate_topic(long) == (
        f"The specified topic is DLQ or Retry topic: {long}, and it's longer than topic max length: 255"
    )


def test_group_remarks() -> None:
    assert validate_group("g" * 120) is None
    assert validate_group("") == "The specified group is blank."
    assert validate_group("ä") == (
        "The specified group: ä, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
    )
    long = "g" * 121
    assert validate_group(long) == f"The specified group: {long}, is longer than group max length: 120"
