"""That places are those of Java's declarations."""

from typing import get_args

from mqgateway.gateway.codec import codes
from mqgateway.gateway.codec.bodies import HeartbeatData
from mqgateway.gateway.codec.bodies.enums import LanguageCode

CPP = (
    b'{"clientID":"c","consumerDataSet":[{"consumeFromWhere":0,"consumeType":1,"groupName":"g","messageModel":1,'
    b'"subscriptionDataSet":[{"codeSet":["2598919"],"subString":"TagA","subVersion":"1574330400000",'
    b'"tagsSet":["TagA"],"topic":"T"}]}],"producerDataSet":[{"groupName":"p"}]}\n'
)
"""A heartbeat as clients in C++ write it."""


def test_a_heartbeat_of_a_client_in_cpp() -> None:
    (consumer,) = HeartbeatData.decode(CPP).consumer_data_set
    assert (consumer.consume_type, consumer.message_model) == ("CONSUME_PASSIVELY", "CLUSTERING")
    assert consumer.consume_from_where == "CONSUME_FROM_LAST_OFFSET"
    (subscription,) = consumer.subscription_data_set
    assert (subscription.code_set, subscription.sub_version) == ([2598919], 1574330400000)


def test_the_numbers_of_languages_are_their_places() -> None:
    names = get_args(LanguageCode)[1].names
    assert {name: place for place, name in enumerate(names)} == {one.name: one for one in codes.LanguageCode}
