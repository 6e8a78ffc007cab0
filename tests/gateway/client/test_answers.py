"""Content of answers, and errors of unreadable ones."""

from __future__ import annotations

import pytest

from mqgateway.gateway.client.answers import decode_body, decode_header
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec.bodies import TopicList
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import GetMaxOffsetResponseHeader


def test_answers_are_read_as_they_are_declared() -> None:
    answer = RemotingCommand.response(0, body=b'{"topicList":["A"]}')
    answer.ext_fields["offset"] = "7"
    assert decode_body(TopicList, answer).topic_list == {"A"}
    assert decode_header(GetMaxOffsetResponseHeader, answer).offset == 7


def test_answers_that_cannot_be_read_are_errors() -> None:
    answer = RemotingCommand.response(0, body=b"{")
    with pytest.raises(ClientError, match="cannot be read"):
        decode_header(GetMaxOffsetResponseHeader, answer)
    with pytest.raises(ClientError, match="cannot be read"):
        decode_body(TopicList, answer)
