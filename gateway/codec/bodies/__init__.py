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

from typing import TYPE_CHECKING

from mqgateway.engine.lazy import lazy_names

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
else:
    __getattr__ = lazy_names(
        globals(),
        {
            "gateway.codec.bodies.assignment": (
                "LockBatchRequestBody",
                "LockBatchResponseBody",
                "MessageQueueAssignment",
                "MessageRequestModeSerializeWrapper",
                "QueryAssignmentRequestBody",
                "QueryAssignmentResponseBody",
                "SetMessageRequestModeRequestBody",
                "UnlockBatchRequestBody",
            ),
            "gateway.codec.bodies.auth": ("AclInfo", "PolicyEntryInfo", "PolicyInfo", "UserInfo"),
            "gateway.codec.bodies.body": ("Body",),
            "gateway.codec.bodies.connections": (
                "Connection",
                "ConsumerConnection",
                "GetConsumerListByGroupResponseBody",
                "GroupList",
                "ProducerConnection",
                "ProducerInfo",
                "ProducerTableInfo",
            ),
            "gateway.codec.bodies.consuming": (
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
            "gateway.codec.bodies.heartbeat": (
                "CheckClientRequestBody",
                "ConsumerData",
                "HeartbeatData",
                "ProducerData",
                "SubscriptionData",
            ),
            "gateway.codec.bodies.lite": (
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
            "gateway.codec.bodies.message_queue": ("MessageQueue",),
            "gateway.codec.bodies.offsets": (
                "ConsumerOffsetSerializeWrapper",
                "GetConsumerStatusBody",
                "MessageQueueForC",
                "QueryCorrectionOffsetBody",
                "ResetOffsetBody",
                "ResetOffsetBodyForC",
            ),
            "gateway.codec.bodies.pop": ("BatchAck", "BatchAckMessageRequestBody", "bit_set"),
            "gateway.codec.bodies.registration": ("RegisterBrokerBody",),
            "gateway.codec.bodies.replicas": (
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
            "gateway.codec.bodies.routes": (
                "BrokerData",
                "BrokerMemberGroup",
                "ClusterInfo",
                "GetBrokerMemberGroupResponseBody",
                "KVTable",
                "QueueData",
                "TopicList",
                "TopicRouteData",
            ),
            "gateway.codec.bodies.statistics": (
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
            "gateway.codec.bodies.tables": (
                "CreateTopicListRequestBody",
                "SubscriptionGroupList",
                "SubscriptionGroupWrapper",
                "TopicConfigAndMappingSerializeWrapper",
                "TopicConfigSerializeWrapper",
            ),
        },
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
