"""POP: the broker gives out messages, which are invisible for a while, and wants each acknowledged.

`pop_log.PopLog` keeps checkpoints and acknowledgements in the log and brings back what was not acknowledged
(it is not taken in here, because clients, who need the names and receipts, have no store);
`Orders` is the table of what was popped in order; `Receipt` and its neighbours are texts that clients see.
"""

from mqgateway.engine.pop.inflight import InFlight
from mqgateway.engine.pop.names import (
    MESSAGES_MAX,
    NORMAL,
    ORDER_REVIVE_QUEUE,
    RETRY_V1,
    RETRY_V2,
    REVIVE_GROUP,
    kind_of,
    normal_topic,
    real_topic,
    retry_topic,
    revive_topic,
)
from mqgateway.engine.pop.orders import Order, OrderKey, Orders
from mqgateway.engine.pop.receipts import (
    Receipt,
    message_count_info,
    message_offset_info,
    order_count_info,
    start_offset_info,
)
from mqgateway.engine.pop.records import Ack, CheckPoint, PointKey

__all__ = [
    "MESSAGES_MAX",
    "NORMAL",
    "ORDER_REVIVE_QUEUE",
    "RETRY_V1",
    "RETRY_V2",
    "REVIVE_GROUP",
    "Ack",
    "CheckPoint",
    "InFlight",
    "Order",
    "OrderKey",
    "Orders",
    "PointKey",
    "Receipt",
    "kind_of",
    "message_count_info",
    "message_offset_info",
    "normal_topic",
    "order_count_info",
    "real_topic",
    "retry_topic",
    "revive_topic",
    "start_offset_info",
]
