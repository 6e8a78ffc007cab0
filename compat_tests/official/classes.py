"""The classes of Apache's integration tests 5.5.0: those that run here, by JVM, and why the others cannot."""

from __future__ import annotations

PACKAGE = "org.apache.rocketmq.test."

GROUPS: dict[str, tuple[str, ...]] = {
    "grpc.v2": ("ClusterGrpcIT",),
    "client.consumer.pop": (
        "PopPriorityIT",
        "PopOrderlyIT",
        "BatchAckIT",
        "NotificationIT",
        "PopBigMessageIT",
        "PopMessageAndForwardingIT",
        "PopSubCheckIT",
    ),
    "client.consumer.tag": (
        "MulTagSubIT",
        "TagMessageWith1ConsumerIT",
        "TagMessageWithMulConsumerIT",
        "TagMessageWithSameGroupConsumerIT",
    ),
    "retry": ("PopConsumerRetryIT",),
    "statictopic": ("StaticTopicIT",),
    "offset": ("OffsetResetForPopIT", "OffsetResetIT", "LagCalculationIT", "OffsetNotFoundIT"),
    "client.consumer.cluster": ("DynamicAddAndCrashIT", "DynamicAddConsumerIT", "DynamicCrashConsumerIT"),
    "client.producer.order": (
        "OrderMsgDynamicRebalanceIT",
        "OrderMsgIT",
        "OrderMsgRebalanceIT",
        "OrderMsgWithTagIT",
    ),
    "delay": ("NormalMsgDelayIT",),
    "client.consumer.balance": ("NormalMsgDynamicBalanceIT", "NormalMsgStaticBalanceIT"),
    "client.consumer.broadcast.normal": (
        "BroadcastNormalMsgNotReceiveIT",
        "BroadcastNormalMsgRecvCrashIT",
        "BroadcastNormalMsgRecvFailIT",
        "BroadcastNormalMsgRecvStartLaterIT",
        "BroadcastNormalMsgTwoDiffGroupRecvIT",
        "NormalMsgTwoSameGroupConsumerIT",
    ),
    "client.consumer.broadcast.tag": (
        "BroadcastTwoConsumerFilterIT",
        "BroadcastTwoConsumerSubDiffTagIT",
        "BroadcastTwoConsumerSubTagIT",
    ),
    "client.consumer.broadcast.order": ("OrderMsgBroadcastIT",),
    "client.consumer.filter": ("SqlFilterIT",),
    "client.consumer.topic": ("MulConsumerMulTopicIT", "OneConsumerMulTopicIT"),
    "recall": ("RecallWithTraceIT", "SendAndRecallDelayMessageIT"),
    "client.producer.transaction": ("TransactionalMsgIT",),
    "smoke": ("NormalMessageSendAndRecvIT",),
    "client.producer.exception.msg": ("ChinaPropIT", "MessageExceptionIT", "MessageUserPropIT"),
    "client.producer.exception.producer": ("ProducerGroupAndInstanceNameValidityIT",),
    "client.producer.async": (
        "AsyncSendExceptionIT",
        "AsyncSendWithMessageQueueIT",
        "AsyncSendWithMessageQueueSelectorIT",
        "AsyncSendWithOnlySendCallBackIT",
    ),
    "client.producer.oneway": (
        "OneWaySendExceptionIT",
        "OneWaySendIT",
        "OneWaySendWithMQIT",
        "OneWaySendWithSelectorIT",
    ),
    "client.producer.querymsg": ("QueryMsgByIdExceptionIT", "QueryMsgByIdIT", "QueryMsgByKeyIT"),
    "client.producer.batch": ("BatchSendIT",),
    "tls": ("TlsIT", "TlsMix2IT", "TlsMixIT"),
    "route": ("CreateAndUpdateTopicIT",),
}
"""Classes that run, by package: classes of a package share a JVM. The slowest packages come first."""

LONG = ("client.consumer.pop.PopPriorityIT",)
"""Classes that take minutes and therefore have a JVM of their own."""

CLASSES = tuple(f"{package}.{name}" for package, names in GROUPS.items() for name in names)
"""Classes that run, as names below :data:`PACKAGE`."""

_CONTAINER = (
    "starts containers of masters and slaves in its own process and stops them; switched off by Apache too"
)

NOT_HERE: dict[str, str] = {
    **{
        f"container.{name}IT": _CONTAINER
        for name in (
            "AddAndRemoveBroker",
            "BrokerFailover",
            "BrokerMemberGroup",
            "GetMaxOffsetFromSlave",
            "GetMetadataReverse",
            "PopSlaveActingMaster",
            "PullMultipleReplicas",
            "PushMultipleReplicas",
            "RebalanceLockOnSlave",
            "ScheduleSlaveActingMaster",
            "ScheduledMessage",
            "SendMultipleReplicas",
            "SlaveBroker",
            "SyncConsumerOffset",
            "TransactionMessage",
        )
    },
    "dledger.DLedgerProduceAndConsumeIT": "starts a DLedger broker in its own process and reads its store",
    "grpc.v2.GrpcBaseIT": "no test itself: the cases that `ClusterGrpcIT` and `LocalGrpcIT` run",
    "grpc.v2.LocalGrpcIT": "its proxy calls the broker's classes in the same process; `ClusterGrpcIT` has "
    "the same cases over the network",
}
"""The classes that cannot use a server outside their process, each with the reason."""
