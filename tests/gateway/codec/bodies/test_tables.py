"""Tables of topics and groups, whose entries are plain JSON."""

import pytest

from mqgateway.gateway.codec.bodies import (
    CreateTopicListRequestBody,
    SubscriptionGroupList,
    SubscriptionGroupWrapper,
    TopicConfigAndMappingSerializeWrapper,
)
from mqgateway.gateway.codec.errors import BodyError


def test_topics_with_their_mappings() -> None:
    text = (
        b'{"dataVersion":{"counter":1},"mappingDataVersion":{"counter":2},"topicConfigTable":{"T":{"perm":6}},'
        b'"topicQueueMappingDetailMap":{"S":{"hostedQueues":{0:[]}}},"topicQueueMappingInfoMap":{}}'
    )
    body = TopicConfigAndMappingSerializeWrapper(
        {"T": {"perm": 6}}, {"counter": 1}, {}, {"S": {"hostedQueues": {0: []}}}, {"counter": 2}
    )
    assert TopicConfigAndMappingSerializeWrapper.decode(text) == body
    assert body.encode() == text


def test_groups() -> None:
    body = SubscriptionGroupWrapper({"G": {"groupName": "G"}}, {"G": {"T": 1}}, {"counter": 1})
    assert body.encode() == (
        b'{"dataVersion":{"counter":1},"forbiddenTable":{"G":{"T":1}},"subscriptionGroupTable":{"G":{"groupName":"G"}}}'
    )


def test_lists_to_create() -> None:
    assert CreateTopicListRequestBody.decode(b'{"topicConfigList":[{"perm":6}]}').topic_config_list == [
        {"perm": 6}
    ]
    assert SubscriptionGroupList.decode(b'{"groupConfigList":[{"a":1}]}').group_config_list == [{"a": 1}]


def test_an_entry_that_is_no_object_is_refused() -> None:
    with pytest.raises(BodyError):
        CreateTopicListRequestBody.decode(b'{"topicConfigList":[6]}')
