"""No Kafka request holds the event loop for longer than the bound; every API is asked.

`python -m tests.fuzz.kafka_holds` asks more, which takes long.
"""

import pytest

from mqgateway.gateway.kafka.codec.apis import APIS
from tests.fuzz.holds import BOUND_MILLIS
from tests.fuzz.kafka_holds import of_key


@pytest.mark.parametrize("key", sorted(APIS))
def test_no_kafka_request_holds_the_loop(key: int) -> None:
    hold = of_key(key, BOUND_MILLIS, worst=True)
    assert hold.millis <= BOUND_MILLIS, hold
