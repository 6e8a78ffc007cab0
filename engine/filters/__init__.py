"""Message filters of consumers: by tags, or by an expression over properties (SQL92).

`tags` parses subscriptions; the store can filter by tags without reading a message. An expression goes
through `tokens` (text to tokens), `sql` (tokens to a tree, with RocketMQ's checks) and `evaluation` (tree to
a function of a message's properties); `expressions` combines the three. `consumers` stores the filters of
consumer groups across restarts, and `bloom` assigns each group its bits in a message's bit map.
"""

from mqgateway.engine.filters.consumers import ConsumerFilters, FilterData
from mqgateway.engine.filters.expressions import Expression, compile_expression
from mqgateway.engine.filters.tags import (
    ALL,
    SQL92_TYPE,
    TAG_TYPE,
    TAGS_MAX,
    TopicSubscription,
    compile_subscription,
    is_tag_type,
    takes_all,
)

__all__ = [
    "ALL",
    "SQL92_TYPE",
    "TAGS_MAX",
    "TAG_TYPE",
    "ConsumerFilters",
    "Expression",
    "FilterData",
    "TopicSubscription",
    "compile_expression",
    "compile_subscription",
    "is_tag_type",
    "takes_all",
]
