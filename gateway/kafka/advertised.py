"""The address in `kafkaAdvertisedAddress`."""

from __future__ import annotations

from mqgateway.engine.options import BrokerOptions

CLIENT = "client"
"""Stands for the address that each client used."""


def advertised_address(options: BrokerOptions, host: str, port: int) -> tuple[str, int]:
    """Return host and port of the setting; `host` and `port` if it names none."""
    setting = options.kafka_advertised_address
    if setting in ("", CLIENT):
        return host, port
    given, _, number = setting.rpartition(":")
    return given.strip("[]"), int(number)
