"""What a consumer wants of a topic: by tags, or by an expression over properties (SQL92).

`tags` reads subscriptions; by tags the store can choose without reading a message. An expression goes through
`tokens` (text to words), `sql` (words to a tree, with the standard's checks) and `evaluation` (tree to a
function of a message's properties); `expressions` puts the three together. `consumers` keeps which
consumer group wants what, across restarts, and `bloom` gives each group its bits in a message's bit map.
"""

from mqgateway.engine.filters.consumers import ConsumerFilters, FilterData
from mqgateway.engine.filters.expressions import Expression, compile_expression
from mqgateway.engine.filters.tags import (
    ALL,
    SQL92_TYPE,
    TAG_TYPE,
    TAGS_MAX,
    SubscriptionData,
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
    "SubscriptionData",
    "compile_expression",
    "compile_subscription",
    "is_tag_type",
    "takes_all",
]
