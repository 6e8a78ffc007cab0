"""Sends records with a client that authenticates itself, reads them back, and prints them or the error.

The argument is an object in JSON: `client` (librdkafka or kafka-python), `bootstrap`, `mechanism`, `user`,
`password`, `topic`, `values`, and `pause`, the seconds between two records.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from typing import Any


def librdkafka(request: Mapping[str, Any]) -> list[str]:
    """Return the values that librdkafka reads."""
    from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

    failures: list[KafkaError] = []
    settings = {
        "bootstrap.servers": request["bootstrap"],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": request["mechanism"],
        "sasl.username": request["user"],
        "sasl.password": request["password"],
    }
    producer = Producer({**settings, "error_cb": failures.append, "message.timeout.ms": 60_000})
    for value in request["values"]:
        producer.produce(request["topic"], value)
        producer.flush(60)
        time.sleep(request["pause"])
    refused = [failure for failure in failures if failure.code() == KafkaError._AUTHENTICATION]
    if refused:
        raise KafkaException(refused[0])
    consumer = Consumer({**settings, "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([TopicPartition(request["topic"], 0, 0)])
    values: list[str] = []
    while len(values) < len(request["values"]):
        message = consumer.poll(30)
        if message is None or message.error():
            raise TimeoutError(f"{len(values)} values were read")
        values.append(message.value().decode())
    consumer.close()
    return values


def kafka_python(request: Mapping[str, Any]) -> list[str]:
    """Return the values that kafka-python reads."""
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition

    settings = {
        "bootstrap_servers": request["bootstrap"],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": request["mechanism"],
        "sasl_plain_username": request["user"],
        "sasl_plain_password": request["password"],
    }
    producer = KafkaProducer(**settings, max_block_ms=20_000)
    for value in request["values"]:
        producer.send(request["topic"], value.encode()).get(30)
        time.sleep(request["pause"])
    producer.close()
    consumer = KafkaConsumer(**settings, group_id=None, consumer_timeout_ms=30_000)
    consumer.assign([TopicPartition(request["topic"], 0)])
    consumer.seek_to_beginning()
    values = [next(consumer).value.decode() for _ in request["values"]]
    consumer.close()
    return values


CLIENTS = {"librdkafka": librdkafka, "kafka-python": kafka_python}


def main() -> None:
    """Carry the request out."""
    request = json.loads(sys.argv[1])
    try:
        outcome: Any = {"values": CLIENTS[request["client"]](request)}
    except Exception as error:
        outcome = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(outcome))


main()
