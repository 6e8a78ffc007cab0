"""Idle connections count as served while their heartbeats are answered."""

import asyncio
from unittest.mock import Mock

from bench.idle import IdleConnection, heartbeat
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import decode_command, encode_response


def test_a_heartbeat_names_a_producer() -> None:
    command = decode_command(heartbeat(300)[4:])
    assert command.code == RequestCode.HEART_BEAT
    assert b'"clientID": "10.0.1.44@300"' in command.body and b"producerDataSet" in command.body


def test_connection_without_an_answer_is_not_served() -> None:
    connection = IdleConnection(1)
    assert not connection.is_served
    connection.connection_made(Mock(spec=asyncio.Transport))
    connection.send_heartbeat()
    assert connection.is_served  # the last answer may be on its way
    connection.send_heartbeat()
    assert not connection.is_served
    connection.data_received(encode_response(decode_command(heartbeat(1)[4:]), 0, None, b"", None))
    assert connection.is_served
    connection.connection_lost(None)
    assert not connection.is_served
