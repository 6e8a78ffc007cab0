"""The bodies of requests and answers that are JSON, one file an area.

body           how a body is declared, and the way to JSON and back
enums          the enums of Java's that they have as members
message_queue  MessageQueue, a key of many maps
routes         topic routes, clusters, lists of topics, key-value tables
registration   what a broker registers with, plain and compressed
heartbeat      what a client tells about itself
connections    who is connected
assignment     queue locks and assignments
statistics     offsets and rates for administration
offsets        offsets that are reset, compared, reported
consuming      a consumer from inside; entries of consume queues
tables         tables of topics and groups
replicas       in-sync sets, elections, epochs, replication
auth           users and policies
pop            many acknowledgements at once
lite           lite topics
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqgateway.gateway.codec.bodies.assignment import (
        LockBatchRequestBody,
        LockBatchResponseBody,
        MessageQueueAssignment,
        MessageRequestModeSerializeWrapper,
        QueryAssignmentRequestBody,
        QueryAssignmentResponseBody,
        SetMessageRequestModeRequestBody,
        UnlockBatchRequestBody,
    )
    from mqgateway.gateway.codec.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
    from mqgateway.gateway.codec.bodies.body import Body
    from mqgateway.gateway.codec.bodies.connections import (
        Connection,
        ConsumerConnection,
        GetConsumerListByGroupResponseBody,
        GroupList,
        ProducerConnection,
        ProducerInfo,
        ProducerTableInfo,
    )
    from mqgateway.gateway.codec.bodies.consuming import (
        ConsumeMessageDirectlyResult,
        ConsumeQueueData,
        ConsumerRunningInfo,
        ConsumeStatus,
        GroupForbidden,
        PopProcessQueueInfo,
        ProcessQueueInfo,
        QueryConsumeQueueResponseBody,
        QuerySubscriptionResponseBody,
    )
    from mqgateway.gateway.codec.bodies.heartbeat import (
        CheckClientRequestBody,
        ConsumerData,
        HeartbeatData,
        ProducerData,
        SubscriptionData,
    )
    from mqgateway.gateway.codec.bodies.lite import (
        GetBrokerLiteInfoResponseBody,
        GetLiteClientInfoResponseBody,
        GetLiteGroupInfoResponseBody,
        GetLiteTopicInfoResponseBody,
        GetParentTopicInfoResponseBody,
        LiteLagInfo,
        LiteOffsetWrapper,
        LiteSubscriber,
        LiteSubscription,
        LiteSubscriptionCtlRequestBody,
        LiteTopicOffset,
        OffsetOption,
    )
    from mqgateway.gateway.codec.bodies.message_queue import MessageQueue
    from mqgateway.gateway.codec.bodies.offsets import (
        ConsumerOffsetSerializeWrapper,
        GetConsumerStatusBody,
        MessageQueueForC,
        QueryCorrectionOffsetBody,
        ResetOffsetBody,
        ResetOffsetBodyForC,
    )
    from mqgateway.gateway.codec.bodies.pop import BatchAck, BatchAckMessageRequestBody, bit_set
    from mqgateway.gateway.codec.bodies.registration import RegisterBrokerBody
    from mqgateway.gateway.codec.bodies.replicas import (
        BrokerReplicasInfo,
        ElectMasterResponseBody,
        EpochEntry,
        EpochEntryCache,
        HAClientRuntimeInfo,
        HAConnectionRuntimeInfo,
        HARuntimeInfo,
        ReplicaIdentity,
        ReplicasInfo,
        SyncStateSet,
    )
    from mqgateway.gateway.codec.bodies.routes import (
        BrokerData,
        BrokerMemberGroup,
        ClusterInfo,
        GetBrokerMemberGroupResponseBody,
        KVTable,
        QueueData,
        TopicList,
        TopicRouteData,
    )
    from mqgateway.gateway.codec.bodies.statistics import (
        BrokerStatsData,
        BrokerStatsItem,
        ConsumeStats,
        ConsumeStatsList,
        OffsetWrapper,
        QueryConsumeTimeSpanBody,
        QueueTimeSpan,
        TopicOffset,
        TopicStatsTable,
    )
    from mqgateway.gateway.codec.bodies.tables import (
        CreateTopicListRequestBody,
        SubscriptionGroupList,
        SubscriptionGroupWrapper,
        TopicConfigAndMappingSerializeWrapper,
        TopicConfigSerializeWrapper,
    )
__all__ = [
    "AclInfo",
    "BatchAck",
    "BatchAckMessageRequestBody",
    "Body",
    "BrokerData",
    "BrokerMemberGroup",
    "BrokerReplicasInfo",
    "BrokerStatsData",
    "BrokerStatsItem",
    "CheckClientRequestBody",
    "ClusterInfo",
    "Connection",
    "ConsumeMessageDirectlyResult",
    "ConsumeQueueData",
    "ConsumeStats",
    "ConsumeStatsList",
    "ConsumeStatus",
    "ConsumerConnection",
    "ConsumerData",
    "ConsumerOffsetSerializeWrapper",
    "ConsumerRunningInfo",
    "CreateTopicListRequestBody",
    "ElectMasterResponseBody",
    "EpochEntry",
    "EpochEntryCache",
    "GetBrokerLiteInfoResponseBody",
    "GetBrokerMemberGroupResponseBody",
    "GetConsumerListByGroupResponseBody",
    "GetConsumerStatusBody",
    "GetLiteClientInfoResponseBody",
    "GetLiteGroupInfoResponseBody",
    "GetLiteTopicInfoResponseBody",
    "GetParentTopicInfoResponseBody",
    "GroupForbidden",
    "GroupList",
    "HAClientRuntimeInfo",
    "HAConnectionRuntimeInfo",
    "HARuntimeInfo",
    "HeartbeatData",
    "KVTable",
    "LiteLagInfo",
    "LiteOffsetWrapper",
    "LiteSubscriber",
    "LiteSubscription",
    "LiteSubscriptionCtlRequestBody",
    "LiteTopicOffset",
    "LockBatchRequestBody",
    "LockBatchResponseBody",
    "MessageQueue",
    "MessageQueueAssignment",
    "MessageQueueForC",
    "MessageRequestModeSerializeWrapper",
    "OffsetOption",
    "OffsetWrapper",
    "PolicyEntryInfo",
    "PolicyInfo",
    "PopProcessQueueInfo",
    "ProcessQueueInfo",
    "ProducerConnection",
    "ProducerData",
    "ProducerInfo",
    "ProducerTableInfo",
    "QueryAssignmentRequestBody",
    "QueryAssignmentResponseBody",
    "QueryConsumeQueueResponseBody",
    "QueryConsumeTimeSpanBody",
    "QueryCorrectionOffsetBody",
    "QuerySubscriptionResponseBody",
    "QueueData",
    "QueueTimeSpan",
    "RegisterBrokerBody",
    "ReplicaIdentity",
    "ReplicasInfo",
    "ResetOffsetBody",
    "ResetOffsetBodyForC",
    "SetMessageRequestModeRequestBody",
    "SubscriptionData",
    "SubscriptionGroupList",
    "SubscriptionGroupWrapper",
    "SyncStateSet",
    "TopicConfigAndMappingSerializeWrapper",
    "TopicConfigSerializeWrapper",
    "TopicList",
    "TopicOffset",
    "TopicRouteData",
    "TopicStatsTable",
    "UnlockBatchRequestBody",
    "UserInfo",
    "bit_set",
]

_PLACES = {
    "codec.bodies.assignment": (
        "LockBatchRequestBody",
        "LockBatchResponseBody",
        "MessageQueueAssignment",
        "MessageRequestModeSerializeWrapper",
        "QueryAssignmentRequestBody",
        "QueryAssignmentResponseBody",
        "SetMessageRequestModeRequestBody",
        "UnlockBatchRequestBody",
    ),
    "codec.bodies.auth": (
        "AclInfo",
        "PolicyEntryInfo",
        "PolicyInfo",
        "UserInfo",
    ),
    "codec.bodies.body": ("Body",),
    "codec.bodies.connections": (
        "Connection",
        "ConsumerConnection",
        "GetConsumerListByGroupResponseBody",
        "GroupList",
        "ProducerConnection",
        "ProducerInfo",
        "ProducerTableInfo",
    ),
    "codec.bodies.consuming": (
        "ConsumeMessageDirectlyResult",
        "ConsumeQueueData",
        "ConsumerRunningInfo",
        "ConsumeStatus",
        "GroupForbidden",
        "PopProcessQueueInfo",
        "ProcessQueueInfo",
        "QueryConsumeQueueResponseBody",
        "QuerySubscriptionResponseBody",
    ),
    "codec.bodies.heartbeat": (
        "CheckClientRequestBody",
        "ConsumerData",
        "HeartbeatData",
        "ProducerData",
        "SubscriptionData",
    ),
    "codec.bodies.lite": (
        "GetBrokerLiteInfoResponseBody",
        "GetLiteClientInfoResponseBody",
        "GetLiteGroupInfoResponseBody",
        "GetLiteTopicInfoResponseBody",
        "GetParentTopicInfoResponseBody",
        "LiteLagInfo",
        "LiteOffsetWrapper",
        "LiteSubscriber",
        "LiteSubscription",
        "LiteSubscriptionCtlRequestBody",
        "LiteTopicOffset",
        "OffsetOption",
    ),
    "codec.bodies.message_queue": ("MessageQueue",),
    "codec.bodies.offsets": (
        "ConsumerOffsetSerializeWrapper",
        "GetConsumerStatusBody",
        "MessageQueueForC",
        "QueryCorrectionOffsetBody",
        "ResetOffsetBody",
        "ResetOffsetBodyForC",
    ),
    "codec.bodies.pop": (
        "BatchAck",
        "BatchAckMessageRequestBody",
        "bit_set",
    ),
    "codec.bodies.registration": ("RegisterBrokerBody",),
    "codec.bodies.replicas": (
        "BrokerReplicasInfo",
        "ElectMasterResponseBody",
        "EpochEntry",
        "EpochEntryCache",
        "HAClientRuntimeInfo",
        "HAConnectionRuntimeInfo",
        "HARuntimeInfo",
        "ReplicaIdentity",
        "ReplicasInfo",
        "SyncStateSet",
    ),
    "codec.bodies.routes": (
        "BrokerData",
        "BrokerMemberGroup",
        "ClusterInfo",
        "GetBrokerMemberGroupResponseBody",
        "KVTable",
        "QueueData",
        "TopicList",
        "TopicRouteData",
    ),
    "codec.bodies.statistics": (
        "BrokerStatsData",
        "BrokerStatsItem",
        "ConsumeStats",
        "ConsumeStatsList",
        "OffsetWrapper",
        "QueryConsumeTimeSpanBody",
        "QueueTimeSpan",
        "TopicOffset",
        "TopicStatsTable",
    ),
    "codec.bodies.tables": (
        "CreateTopicListRequestBody",
        "SubscriptionGroupList",
        "SubscriptionGroupWrapper",
        "TopicConfigAndMappingSerializeWrapper",
        "TopicConfigSerializeWrapper",
    ),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a body's area when one of its names is first asked for: a short command asks for few."""
    if name not in _PLACE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"mqgateway.gateway.{_PLACE_OF[name]}"), name)
    globals()[name] = value
    return value
