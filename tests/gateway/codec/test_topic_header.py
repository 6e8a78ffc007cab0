"""The header that creates or changes a topic."""

from mqgateway.engine.tables.attributes import parse_changes
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.codec.topic_header import create_topic_header


def test_header_has_the_settings_of_the_topic() -> None:
    header = create_topic_header(TopicConfig("T", 3, 4, 6, "MULTI_TAG", 1, True), {})
    assert header.topic == "T" and header.default_topic == "TBW102"
    assert (header.read_queue_nums, header.write_queue_nums, header.perm) == (3, 4, 6)
    assert (header.topic_filter_type, header.topic_sys_flag, header.order) == ("MULTI_TAG", 1, True)
    assert header.attributes is None


def test_attributes_are_those_that_a_broker_reads() -> None:
    header = create_topic_header(TopicConfig("T"), {"+message.type": "FIFO", "-cleanup.policy": ""})
    assert header.attributes == "+message.type=FIFO,-cleanup.policy"
    assert parse_changes(header.attributes) == {"+message.type": "FIFO", "-cleanup.policy": ""}
