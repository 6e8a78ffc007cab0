"""Messages that could not be consumed go back, to come again later or to the dead letters.

The broker is asked to do that; if it cannot, the message is sent to the group's retry topic as any other.
Standard: `DefaultMQPushConsumerImpl.sendMessageBack`, `ConsumeMessageOrderlyService.sendMessageBack`.
"""

from __future__ import annotations

import logging

from mqgateway.engine.message import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_MAX_RECONSUME_TIMES,
    PROPERTY_ORIGIN_MESSAGE_ID,
    PROPERTY_RECONSUME_TIME,
    PROPERTY_RETRY_TOPIC,
    PROPERTY_TRANSACTION_PREPARED,
    RETRY_PREFIX,
)
from mqgateway.gateway.client.client import Environment
from mqgateway.gateway.client.consumer import GroupConsumer
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.client.message import Message, ReceivedMessage
from mqgateway.gateway.client.namespaces import with_namespace
from mqgateway.gateway.client.producer import Producer

log = logging.getLogger(__name__)

INNER_GROUP = "CLIENT_INNER_PRODUCER"
FIRST_LEVEL = 3
"""Delay level of a message that comes again for the first time; each further time the next one."""


class Returns:
    """The way back for one consumer."""

    def __init__(self, consumer: GroupConsumer, environment: Environment, max_times: int) -> None:
        self._consumer = consumer
        self._max_times = max_times
        self._namespace = consumer.settings.namespace
        self._producer = Producer(INNER_GROUP, environment, client=consumer.client, namespace=self._namespace)
        self._producer.group = INNER_GROUP  # it is in no namespace

    async def start(self) -> None:
        """Be ready to send; harmless when another consumer of the client is."""
        if INNER_GROUP not in self._consumer.client.producers:
            await self._producer.start()

    async def close(self) -> None:
        """Send no more."""
        await self._producer.close()

    async def give_back(self, message: ReceivedMessage, delay_level: int) -> bool:
        """Ask the broker to hand it out again after a delay level (0: one that grows, below 0: never)."""
        consumer = self._consumer
        try:
            await consumer.client.calls.send_back(
                consumer.group, message, delay_level, self._max_times, consumer.settings.unit_mode
            )
        except ClientError as error:
            log.warning("%r cannot be sent back, and is sent again: %s", message, error)
            return await self.resend(message, self._max_times)
        return True

    async def resend(self, message: ReceivedMessage, max_times: int) -> bool:
        """Send it to the retry topic, counted once more; whether that worked."""
        copy = Message(RETRY_PREFIX + self._consumer.group, message.body, flag=message.flag)
        copy.properties = dict(message.properties)
        copy.properties.setdefault(PROPERTY_ORIGIN_MESSAGE_ID, message.message_id)
        copy.properties.pop(PROPERTY_TRANSACTION_PREPARED, None)
        copy.put(PROPERTY_RETRY_TOPIC, with_namespace(self._namespace, message.topic))
        copy.put(PROPERTY_RECONSUME_TIME, str(message.reconsume_times + 1))
        copy.put(PROPERTY_MAX_RECONSUME_TIMES, str(max_times))
        copy.put(PROPERTY_DELAY_TIME_LEVEL, str(FIRST_LEVEL + message.reconsume_times))
        producer = self._consumer.client.producers.get(INNER_GROUP, self._producer)
        assert isinstance(producer, Producer)
        try:
            await producer.send(copy)
        except ClientError as error:
            log.warning("%r cannot be sent again: %s", message, error)
            return False
        return True
