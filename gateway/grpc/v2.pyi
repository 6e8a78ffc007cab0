# Made by scripts/messages.py from the .proto files; do not edit.
from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

from google.protobuf.duration_pb2 import Duration as Duration
from google.protobuf.internal.containers import (
    MessageMap,
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
    ScalarMap,
)
from google.protobuf.message import Message as _Message
from google.protobuf.timestamp_pb2 import Timestamp as Timestamp

class _Enum(int):
    @classmethod
    def Name(cls, number: int) -> str: ...
    @classmethod
    def keys(cls) -> list[str]: ...

class TransactionResolution(_Enum):
    @classmethod
    def Value(cls, name: str) -> TransactionResolution: ...
    @classmethod
    def values(cls) -> list[TransactionResolution]: ...
    TRANSACTION_RESOLUTION_UNSPECIFIED: ClassVar[TransactionResolution]
    COMMIT: ClassVar[TransactionResolution]
    ROLLBACK: ClassVar[TransactionResolution]

class TransactionSource(_Enum):
    @classmethod
    def Value(cls, name: str) -> TransactionSource: ...
    @classmethod
    def values(cls) -> list[TransactionSource]: ...
    SOURCE_UNSPECIFIED: ClassVar[TransactionSource]
    SOURCE_CLIENT: ClassVar[TransactionSource]
    SOURCE_SERVER_CHECK: ClassVar[TransactionSource]

class Permission(_Enum):
    @classmethod
    def Value(cls, name: str) -> Permission: ...
    @classmethod
    def values(cls) -> list[Permission]: ...
    PERMISSION_UNSPECIFIED: ClassVar[Permission]
    NONE: ClassVar[Permission]
    READ: ClassVar[Permission]
    WRITE: ClassVar[Permission]
    READ_WRITE: ClassVar[Permission]

class FilterType(_Enum):
    @classmethod
    def Value(cls, name: str) -> FilterType: ...
    @classmethod
    def values(cls) -> list[FilterType]: ...
    FILTER_TYPE_UNSPECIFIED: ClassVar[FilterType]
    TAG: ClassVar[FilterType]
    SQL: ClassVar[FilterType]

class AddressScheme(_Enum):
    @classmethod
    def Value(cls, name: str) -> AddressScheme: ...
    @classmethod
    def values(cls) -> list[AddressScheme]: ...
    ADDRESS_SCHEME_UNSPECIFIED: ClassVar[AddressScheme]
    IPv4: ClassVar[AddressScheme]
    IPv6: ClassVar[AddressScheme]
    DOMAIN_NAME: ClassVar[AddressScheme]

class MessageType(_Enum):
    @classmethod
    def Value(cls, name: str) -> MessageType: ...
    @classmethod
    def values(cls) -> list[MessageType]: ...
    MESSAGE_TYPE_UNSPECIFIED: ClassVar[MessageType]
    NORMAL: ClassVar[MessageType]
    FIFO: ClassVar[MessageType]
    DELAY: ClassVar[MessageType]
    TRANSACTION: ClassVar[MessageType]
    LITE: ClassVar[MessageType]
    PRIORITY: ClassVar[MessageType]

class DigestType(_Enum):
    @classmethod
    def Value(cls, name: str) -> DigestType: ...
    @classmethod
    def values(cls) -> list[DigestType]: ...
    DIGEST_TYPE_UNSPECIFIED: ClassVar[DigestType]
    CRC32: ClassVar[DigestType]
    MD5: ClassVar[DigestType]
    SHA1: ClassVar[DigestType]

class ClientType(_Enum):
    @classmethod
    def Value(cls, name: str) -> ClientType: ...
    @classmethod
    def values(cls) -> list[ClientType]: ...
    CLIENT_TYPE_UNSPECIFIED: ClassVar[ClientType]
    PRODUCER: ClassVar[ClientType]
    PUSH_CONSUMER: ClassVar[ClientType]
    SIMPLE_CONSUMER: ClassVar[ClientType]
    PULL_CONSUMER: ClassVar[ClientType]
    LITE_PUSH_CONSUMER: ClassVar[ClientType]
    LITE_SIMPLE_CONSUMER: ClassVar[ClientType]

class Encoding(_Enum):
    @classmethod
    def Value(cls, name: str) -> Encoding: ...
    @classmethod
    def values(cls) -> list[Encoding]: ...
    ENCODING_UNSPECIFIED: ClassVar[Encoding]
    IDENTITY: ClassVar[Encoding]
    GZIP: ClassVar[Encoding]

class Code(_Enum):
    @classmethod
    def Value(cls, name: str) -> Code: ...
    @classmethod
    def values(cls) -> list[Code]: ...
    CODE_UNSPECIFIED: ClassVar[Code]
    OK: ClassVar[Code]
    MULTIPLE_RESULTS: ClassVar[Code]
    BAD_REQUEST: ClassVar[Code]
    ILLEGAL_ACCESS_POINT: ClassVar[Code]
    ILLEGAL_TOPIC: ClassVar[Code]
    ILLEGAL_CONSUMER_GROUP: ClassVar[Code]
    ILLEGAL_MESSAGE_TAG: ClassVar[Code]
    ILLEGAL_MESSAGE_KEY: ClassVar[Code]
    ILLEGAL_MESSAGE_GROUP: ClassVar[Code]
    ILLEGAL_MESSAGE_PROPERTY_KEY: ClassVar[Code]
    INVALID_TRANSACTION_ID: ClassVar[Code]
    ILLEGAL_MESSAGE_ID: ClassVar[Code]
    ILLEGAL_FILTER_EXPRESSION: ClassVar[Code]
    ILLEGAL_INVISIBLE_TIME: ClassVar[Code]
    ILLEGAL_DELIVERY_TIME: ClassVar[Code]
    INVALID_RECEIPT_HANDLE: ClassVar[Code]
    MESSAGE_PROPERTY_CONFLICT_WITH_TYPE: ClassVar[Code]
    UNRECOGNIZED_CLIENT_TYPE: ClassVar[Code]
    MESSAGE_CORRUPTED: ClassVar[Code]
    CLIENT_ID_REQUIRED: ClassVar[Code]
    ILLEGAL_POLLING_TIME: ClassVar[Code]
    ILLEGAL_OFFSET: ClassVar[Code]
    ILLEGAL_LITE_TOPIC: ClassVar[Code]
    UNAUTHORIZED: ClassVar[Code]
    PAYMENT_REQUIRED: ClassVar[Code]
    FORBIDDEN: ClassVar[Code]
    NOT_FOUND: ClassVar[Code]
    MESSAGE_NOT_FOUND: ClassVar[Code]
    TOPIC_NOT_FOUND: ClassVar[Code]
    CONSUMER_GROUP_NOT_FOUND: ClassVar[Code]
    OFFSET_NOT_FOUND: ClassVar[Code]
    REQUEST_TIMEOUT: ClassVar[Code]
    PAYLOAD_TOO_LARGE: ClassVar[Code]
    MESSAGE_BODY_TOO_LARGE: ClassVar[Code]
    MESSAGE_BODY_EMPTY: ClassVar[Code]
    PRECONDITION_FAILED: ClassVar[Code]
    TOO_MANY_REQUESTS: ClassVar[Code]
    LITE_TOPIC_QUOTA_EXCEEDED: ClassVar[Code]
    LITE_SUBSCRIPTION_QUOTA_EXCEEDED: ClassVar[Code]
    REQUEST_HEADER_FIELDS_TOO_LARGE: ClassVar[Code]
    MESSAGE_PROPERTIES_TOO_LARGE: ClassVar[Code]
    INTERNAL_ERROR: ClassVar[Code]
    INTERNAL_SERVER_ERROR: ClassVar[Code]
    HA_NOT_AVAILABLE: ClassVar[Code]
    NOT_IMPLEMENTED: ClassVar[Code]
    PROXY_TIMEOUT: ClassVar[Code]
    MASTER_PERSISTENCE_TIMEOUT: ClassVar[Code]
    SLAVE_PERSISTENCE_TIMEOUT: ClassVar[Code]
    UNSUPPORTED: ClassVar[Code]
    VERSION_UNSUPPORTED: ClassVar[Code]
    VERIFY_FIFO_MESSAGE_UNSUPPORTED: ClassVar[Code]
    FAILED_TO_CONSUME_MESSAGE: ClassVar[Code]

class Language(_Enum):
    @classmethod
    def Value(cls, name: str) -> Language: ...
    @classmethod
    def values(cls) -> list[Language]: ...
    LANGUAGE_UNSPECIFIED: ClassVar[Language]
    JAVA: ClassVar[Language]
    CPP: ClassVar[Language]
    DOT_NET: ClassVar[Language]
    GOLANG: ClassVar[Language]
    RUST: ClassVar[Language]
    PYTHON: ClassVar[Language]
    PHP: ClassVar[Language]
    NODE_JS: ClassVar[Language]
    RUBY: ClassVar[Language]
    OBJECTIVE_C: ClassVar[Language]
    DART: ClassVar[Language]
    KOTLIN: ClassVar[Language]

class LiteSubscriptionAction(_Enum):
    @classmethod
    def Value(cls, name: str) -> LiteSubscriptionAction: ...
    @classmethod
    def values(cls) -> list[LiteSubscriptionAction]: ...
    PARTIAL_ADD: ClassVar[LiteSubscriptionAction]
    PARTIAL_REMOVE: ClassVar[LiteSubscriptionAction]
    COMPLETE_ADD: ClassVar[LiteSubscriptionAction]
    COMPLETE_REMOVE: ClassVar[LiteSubscriptionAction]

class QueryOffsetPolicy(_Enum):
    @classmethod
    def Value(cls, name: str) -> QueryOffsetPolicy: ...
    @classmethod
    def values(cls) -> list[QueryOffsetPolicy]: ...
    BEGINNING: ClassVar[QueryOffsetPolicy]
    END: ClassVar[QueryOffsetPolicy]
    TIMESTAMP: ClassVar[QueryOffsetPolicy]

class FilterExpression(_Message):
    type: FilterType
    expression: str
    def __init__(
        self, *,
        type: FilterType | None = None,
        expression: str | None = None,
    ) -> None: ...

class RetryPolicy(_Message):
    max_attempts: int
    @property
    def exponential_backoff(self) -> ExponentialBackoff: ...
    @property
    def customized_backoff(self) -> CustomizedBackoff: ...
    def __init__(
        self, *,
        max_attempts: int | None = None,
        exponential_backoff: ExponentialBackoff | None = None,
        customized_backoff: CustomizedBackoff | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["exponential_backoff", "customized_backoff", "strategy"]) -> bool: ...
    def WhichOneof(
        self, oneof_group: Literal["strategy"]
    ) -> Literal["exponential_backoff", "customized_backoff"] | None: ...

class ExponentialBackoff(_Message):
    @property
    def initial(self) -> Duration: ...
    @property
    def max(self) -> Duration: ...
    multiplier: float
    def __init__(
        self, *,
        initial: Duration | None = None,
        max: Duration | None = None,
        multiplier: float | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["initial", "max"]) -> bool: ...

class CustomizedBackoff(_Message):
    @property
    def next(self) -> RepeatedCompositeFieldContainer[Duration]: ...
    def __init__(
        self, *,
        next: Iterable[Duration] | None = None,
    ) -> None: ...

class Resource(_Message):
    resource_namespace: str
    name: str
    def __init__(
        self, *,
        resource_namespace: str | None = None,
        name: str | None = None,
    ) -> None: ...

class SubscriptionEntry(_Message):
    @property
    def topic(self) -> Resource: ...
    @property
    def expression(self) -> FilterExpression: ...
    def __init__(
        self, *,
        topic: Resource | None = None,
        expression: FilterExpression | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["topic", "expression"]) -> bool: ...

class Address(_Message):
    host: str
    port: int
    def __init__(
        self, *,
        host: str | None = None,
        port: int | None = None,
    ) -> None: ...

class Endpoints(_Message):
    scheme: AddressScheme
    @property
    def addresses(self) -> RepeatedCompositeFieldContainer[Address]: ...
    def __init__(
        self, *,
        scheme: AddressScheme | None = None,
        addresses: Iterable[Address] | None = None,
    ) -> None: ...

class Broker(_Message):
    name: str
    id: int
    @property
    def endpoints(self) -> Endpoints: ...
    def __init__(
        self, *,
        name: str | None = None,
        id: int | None = None,
        endpoints: Endpoints | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["endpoints"]) -> bool: ...

class MessageQueue(_Message):
    @property
    def topic(self) -> Resource: ...
    id: int
    permission: Permission
    @property
    def broker(self) -> Broker: ...
    @property
    def accept_message_types(self) -> RepeatedScalarFieldContainer[MessageType]: ...
    def __init__(
        self, *,
        topic: Resource | None = None,
        id: int | None = None,
        permission: Permission | None = None,
        broker: Broker | None = None,
        accept_message_types: Iterable[MessageType] | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["topic", "broker"]) -> bool: ...

class Digest(_Message):
    type: DigestType
    checksum: str
    def __init__(
        self, *,
        type: DigestType | None = None,
        checksum: str | None = None,
    ) -> None: ...

class SystemProperties(_Message):
    tag: str
    @property
    def keys(self) -> RepeatedScalarFieldContainer[str]: ...
    message_id: str
    @property
    def body_digest(self) -> Digest: ...
    body_encoding: Encoding
    message_type: MessageType
    @property
    def born_timestamp(self) -> Timestamp: ...
    born_host: str
    @property
    def store_timestamp(self) -> Timestamp: ...
    store_host: str
    @property
    def delivery_timestamp(self) -> Timestamp: ...
    receipt_handle: str
    queue_id: int
    queue_offset: int
    @property
    def invisible_duration(self) -> Duration: ...
    delivery_attempt: int
    message_group: str
    trace_context: str
    @property
    def orphaned_transaction_recovery_duration(self) -> Duration: ...
    @property
    def dead_letter_queue(self) -> DeadLetterQueue: ...
    lite_topic: str
    priority: int
    def __init__(
        self, *,
        tag: str | None = None,
        keys: Iterable[str] | None = None,
        message_id: str | None = None,
        body_digest: Digest | None = None,
        body_encoding: Encoding | None = None,
        message_type: MessageType | None = None,
        born_timestamp: Timestamp | None = None,
        born_host: str | None = None,
        store_timestamp: Timestamp | None = None,
        store_host: str | None = None,
        delivery_timestamp: Timestamp | None = None,
        receipt_handle: str | None = None,
        queue_id: int | None = None,
        queue_offset: int | None = None,
        invisible_duration: Duration | None = None,
        delivery_attempt: int | None = None,
        message_group: str | None = None,
        trace_context: str | None = None,
        orphaned_transaction_recovery_duration: Duration | None = None,
        dead_letter_queue: DeadLetterQueue | None = None,
        lite_topic: str | None = None,
        priority: int | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["tag", "body_digest", "born_timestamp", "store_timestamp", "delivery_timestamp", "receipt_handle", "queue_offset", "invisible_duration", "delivery_attempt", "message_group", "trace_context", "orphaned_transaction_recovery_duration", "dead_letter_queue", "lite_topic", "priority"]) -> bool: ...

class DeadLetterQueue(_Message):
    topic: str
    message_id: str
    def __init__(
        self, *,
        topic: str | None = None,
        message_id: str | None = None,
    ) -> None: ...

class Message(_Message):
    @property
    def topic(self) -> Resource: ...
    @property
    def user_properties(self) -> ScalarMap[str, str]: ...
    @property
    def system_properties(self) -> SystemProperties: ...
    body: bytes
    def __init__(
        self, *,
        topic: Resource | None = None,
        user_properties: Mapping[str, str] | None = None,
        system_properties: SystemProperties | None = None,
        body: bytes | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["topic", "system_properties"]) -> bool: ...

class Assignment(_Message):
    @property
    def message_queue(self) -> MessageQueue: ...
    def __init__(
        self, *,
        message_queue: MessageQueue | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["message_queue"]) -> bool: ...

class Status(_Message):
    code: Code
    message: str
    def __init__(
        self, *,
        code: Code | None = None,
        message: str | None = None,
    ) -> None: ...

class UA(_Message):
    language: Language
    version: str
    platform: str
    hostname: str
    def __init__(
        self, *,
        language: Language | None = None,
        version: str | None = None,
        platform: str | None = None,
        hostname: str | None = None,
    ) -> None: ...

class Settings(_Message):
    client_type: ClientType
    @property
    def access_point(self) -> Endpoints: ...
    @property
    def backoff_policy(self) -> RetryPolicy: ...
    @property
    def request_timeout(self) -> Duration: ...
    @property
    def publishing(self) -> Publishing: ...
    @property
    def subscription(self) -> Subscription: ...
    @property
    def user_agent(self) -> UA: ...
    @property
    def metric(self) -> Metric: ...
    def __init__(
        self, *,
        client_type: ClientType | None = None,
        access_point: Endpoints | None = None,
        backoff_policy: RetryPolicy | None = None,
        request_timeout: Duration | None = None,
        publishing: Publishing | None = None,
        subscription: Subscription | None = None,
        user_agent: UA | None = None,
        metric: Metric | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["client_type", "access_point", "backoff_policy", "request_timeout", "publishing", "subscription", "user_agent", "metric", "pub_sub"]) -> bool: ...
    def WhichOneof(
        self, oneof_group: Literal["pub_sub"]
    ) -> Literal["publishing", "subscription"] | None: ...

class Publishing(_Message):
    @property
    def topics(self) -> RepeatedCompositeFieldContainer[Resource]: ...
    max_body_size: int
    validate_message_type: bool
    def __init__(
        self, *,
        topics: Iterable[Resource] | None = None,
        max_body_size: int | None = None,
        validate_message_type: bool | None = None,
    ) -> None: ...

class Subscription(_Message):
    @property
    def group(self) -> Resource: ...
    @property
    def subscriptions(self) -> RepeatedCompositeFieldContainer[SubscriptionEntry]: ...
    fifo: bool
    receive_batch_size: int
    @property
    def long_polling_timeout(self) -> Duration: ...
    lite_subscription_quota: int
    max_lite_topic_size: int
    def __init__(
        self, *,
        group: Resource | None = None,
        subscriptions: Iterable[SubscriptionEntry] | None = None,
        fifo: bool | None = None,
        receive_batch_size: int | None = None,
        long_polling_timeout: Duration | None = None,
        lite_subscription_quota: int | None = None,
        max_lite_topic_size: int | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["group", "fifo", "receive_batch_size", "long_polling_timeout", "lite_subscription_quota", "max_lite_topic_size"]) -> bool: ...

class Metric(_Message):
    on: bool
    @property
    def endpoints(self) -> Endpoints: ...
    def __init__(
        self, *,
        on: bool | None = None,
        endpoints: Endpoints | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["endpoints"]) -> bool: ...

class OffsetOption(_Message):
    class Policy(_Enum):
        @classmethod
        def Value(cls, name: str) -> OffsetOption.Policy: ...
        @classmethod
        def values(cls) -> list[OffsetOption.Policy]: ...
        LAST: ClassVar[OffsetOption.Policy]
        MIN: ClassVar[OffsetOption.Policy]
        MAX: ClassVar[OffsetOption.Policy]

    LAST: ClassVar[OffsetOption.Policy]
    MIN: ClassVar[OffsetOption.Policy]
    MAX: ClassVar[OffsetOption.Policy]
    policy: OffsetOption.Policy
    offset: int
    tail_n: int
    timestamp: int
    def __init__(
        self, *,
        policy: OffsetOption.Policy | None = None,
        offset: int | None = None,
        tail_n: int | None = None,
        timestamp: int | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["policy", "offset", "tail_n", "timestamp", "offset_type"]) -> bool: ...
    def WhichOneof(
        self, oneof_group: Literal["offset_type"]
    ) -> Literal["policy", "offset", "tail_n", "timestamp"] | None: ...

class QueryRouteRequest(_Message):
    @property
    def topic(self) -> Resource: ...
    @property
    def endpoints(self) -> Endpoints: ...
    def __init__(
        self, *,
        topic: Resource | None = None,
        endpoints: Endpoints | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["topic", "endpoints"]) -> bool: ...

class QueryRouteResponse(_Message):
    @property
    def status(self) -> Status: ...
    @property
    def message_queues(self) -> RepeatedCompositeFieldContainer[MessageQueue]: ...
    def __init__(
        self, *,
        status: Status | None = None,
        message_queues: Iterable[MessageQueue] | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class SendMessageRequest(_Message):
    @property
    def messages(self) -> RepeatedCompositeFieldContainer[Message]: ...
    def __init__(
        self, *,
        messages: Iterable[Message] | None = None,
    ) -> None: ...

class SendResultEntry(_Message):
    @property
    def status(self) -> Status: ...
    message_id: str
    transaction_id: str
    offset: int
    recall_handle: str
    def __init__(
        self, *,
        status: Status | None = None,
        message_id: str | None = None,
        transaction_id: str | None = None,
        offset: int | None = None,
        recall_handle: str | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class SendMessageResponse(_Message):
    @property
    def status(self) -> Status: ...
    @property
    def entries(self) -> RepeatedCompositeFieldContainer[SendResultEntry]: ...
    def __init__(
        self, *,
        status: Status | None = None,
        entries: Iterable[SendResultEntry] | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class QueryAssignmentRequest(_Message):
    @property
    def topic(self) -> Resource: ...
    @property
    def group(self) -> Resource: ...
    @property
    def endpoints(self) -> Endpoints: ...
    def __init__(
        self, *,
        topic: Resource | None = None,
        group: Resource | None = None,
        endpoints: Endpoints | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["topic", "group", "endpoints"]) -> bool: ...

class QueryAssignmentResponse(_Message):
    @property
    def status(self) -> Status: ...
    @property
    def assignments(self) -> RepeatedCompositeFieldContainer[Assignment]: ...
    def __init__(
        self, *,
        status: Status | None = None,
        assignments: Iterable[Assignment] | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class ReceiveMessageRequest(_Message):
    @property
    def group(self) -> Resource: ...
    @property
    def message_queue(self) -> MessageQueue: ...
    @property
    def filter_expression(self) -> FilterExpression: ...
    batch_size: int
    @property
    def invisible_duration(self) -> Duration: ...
    auto_renew: bool
    @property
    def long_polling_timeout(self) -> Duration: ...
    attempt_id: str
    def __init__(
        self, *,
        group: Resource | None = None,
        message_queue: MessageQueue | None = None,
        filter_expression: FilterExpression | None = None,
        batch_size: int | None = None,
        invisible_duration: Duration | None = None,
        auto_renew: bool | None = None,
        long_polling_timeout: Duration | None = None,
        attempt_id: str | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["group", "message_queue", "filter_expression", "invisible_duration", "long_polling_timeout", "attempt_id"]) -> bool: ...

class ReceiveMessageResponse(_Message):
    @property
    def status(self) -> Status: ...
    @property
    def message(self) -> Message: ...
    @property
    def delivery_timestamp(self) -> Timestamp: ...
    def __init__(
        self, *,
        status: Status | None = None,
        message: Message | None = None,
        delivery_timestamp: Timestamp | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status", "message", "delivery_timestamp", "content"]) -> bool: ...
    def WhichOneof(
        self, oneof_group: Literal["content"]
    ) -> Literal["status", "message", "delivery_timestamp"] | None: ...

class AckMessageEntry(_Message):
    message_id: str
    receipt_handle: str
    lite_topic: str
    def __init__(
        self, *,
        message_id: str | None = None,
        receipt_handle: str | None = None,
        lite_topic: str | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["lite_topic"]) -> bool: ...

class AckMessageRequest(_Message):
    @property
    def group(self) -> Resource: ...
    @property
    def topic(self) -> Resource: ...
    @property
    def entries(self) -> RepeatedCompositeFieldContainer[AckMessageEntry]: ...
    def __init__(
        self, *,
        group: Resource | None = None,
        topic: Resource | None = None,
        entries: Iterable[AckMessageEntry] | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["group", "topic"]) -> bool: ...

class AckMessageResultEntry(_Message):
    message_id: str
    receipt_handle: str
    @property
    def status(self) -> Status: ...
    def __init__(
        self, *,
        message_id: str | None = None,
        receipt_handle: str | None = None,
        status: Status | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class AckMessageResponse(_Message):
    @property
    def status(self) -> Status: ...
    @property
    def entries(self) -> RepeatedCompositeFieldContainer[AckMessageResultEntry]: ...
    def __init__(
        self, *,
        status: Status | None = None,
        entries: Iterable[AckMessageResultEntry] | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class ForwardMessageToDeadLetterQueueRequest(_Message):
    @property
    def group(self) -> Resource: ...
    @property
    def topic(self) -> Resource: ...
    receipt_handle: str
    message_id: str
    delivery_attempt: int
    max_delivery_attempts: int
    lite_topic: str
    def __init__(
        self, *,
        group: Resource | None = None,
        topic: Resource | None = None,
        receipt_handle: str | None = None,
        message_id: str | None = None,
        delivery_attempt: int | None = None,
        max_delivery_attempts: int | None = None,
        lite_topic: str | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["group", "topic", "lite_topic"]) -> bool: ...

class ForwardMessageToDeadLetterQueueResponse(_Message):
    @property
    def status(self) -> Status: ...
    def __init__(
        self, *,
        status: Status | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class HeartbeatRequest(_Message):
    @property
    def group(self) -> Resource: ...
    client_type: ClientType
    def __init__(
        self, *,
        group: Resource | None = None,
        client_type: ClientType | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["group"]) -> bool: ...

class HeartbeatResponse(_Message):
    @property
    def status(self) -> Status: ...
    def __init__(
        self, *,
        status: Status | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class EndTransactionRequest(_Message):
    @property
    def topic(self) -> Resource: ...
    message_id: str
    transaction_id: str
    resolution: TransactionResolution
    source: TransactionSource
    trace_context: str
    def __init__(
        self, *,
        topic: Resource | None = None,
        message_id: str | None = None,
        transaction_id: str | None = None,
        resolution: TransactionResolution | None = None,
        source: TransactionSource | None = None,
        trace_context: str | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["topic"]) -> bool: ...

class EndTransactionResponse(_Message):
    @property
    def status(self) -> Status: ...
    def __init__(
        self, *,
        status: Status | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class PrintThreadStackTraceCommand(_Message):
    nonce: str
    def __init__(
        self, *,
        nonce: str | None = None,
    ) -> None: ...

class ReconnectEndpointsCommand(_Message):
    nonce: str
    def __init__(
        self, *,
        nonce: str | None = None,
    ) -> None: ...

class ThreadStackTrace(_Message):
    nonce: str
    thread_stack_trace: str
    def __init__(
        self, *,
        nonce: str | None = None,
        thread_stack_trace: str | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["thread_stack_trace"]) -> bool: ...

class VerifyMessageCommand(_Message):
    nonce: str
    @property
    def message(self) -> Message: ...
    def __init__(
        self, *,
        nonce: str | None = None,
        message: Message | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["message"]) -> bool: ...

class VerifyMessageResult(_Message):
    nonce: str
    def __init__(
        self, *,
        nonce: str | None = None,
    ) -> None: ...

class RecoverOrphanedTransactionCommand(_Message):
    @property
    def message(self) -> Message: ...
    transaction_id: str
    def __init__(
        self, *,
        message: Message | None = None,
        transaction_id: str | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["message"]) -> bool: ...

class NotifyUnsubscribeLiteCommand(_Message):
    lite_topic: str
    def __init__(
        self, *,
        lite_topic: str | None = None,
    ) -> None: ...

class TelemetryCommand(_Message):
    @property
    def status(self) -> Status: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def thread_stack_trace(self) -> ThreadStackTrace: ...
    @property
    def verify_message_result(self) -> VerifyMessageResult: ...
    @property
    def recover_orphaned_transaction_command(self) -> RecoverOrphanedTransactionCommand: ...
    @property
    def print_thread_stack_trace_command(self) -> PrintThreadStackTraceCommand: ...
    @property
    def verify_message_command(self) -> VerifyMessageCommand: ...
    @property
    def reconnect_endpoints_command(self) -> ReconnectEndpointsCommand: ...
    @property
    def notify_unsubscribe_lite_command(self) -> NotifyUnsubscribeLiteCommand: ...
    def __init__(
        self, *,
        status: Status | None = None,
        settings: Settings | None = None,
        thread_stack_trace: ThreadStackTrace | None = None,
        verify_message_result: VerifyMessageResult | None = None,
        recover_orphaned_transaction_command: RecoverOrphanedTransactionCommand | None = None,
        print_thread_stack_trace_command: PrintThreadStackTraceCommand | None = None,
        verify_message_command: VerifyMessageCommand | None = None,
        reconnect_endpoints_command: ReconnectEndpointsCommand | None = None,
        notify_unsubscribe_lite_command: NotifyUnsubscribeLiteCommand | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status", "settings", "thread_stack_trace", "verify_message_result", "recover_orphaned_transaction_command", "print_thread_stack_trace_command", "verify_message_command", "reconnect_endpoints_command", "notify_unsubscribe_lite_command", "command"]) -> bool: ...
    def WhichOneof(
        self, oneof_group: Literal["command"]
    ) -> Literal["settings", "thread_stack_trace", "verify_message_result", "recover_orphaned_transaction_command", "print_thread_stack_trace_command", "verify_message_command", "reconnect_endpoints_command", "notify_unsubscribe_lite_command"] | None: ...

class NotifyClientTerminationRequest(_Message):
    @property
    def group(self) -> Resource: ...
    def __init__(
        self, *,
        group: Resource | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["group"]) -> bool: ...

class NotifyClientTerminationResponse(_Message):
    @property
    def status(self) -> Status: ...
    def __init__(
        self, *,
        status: Status | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class ChangeInvisibleDurationRequest(_Message):
    @property
    def group(self) -> Resource: ...
    @property
    def topic(self) -> Resource: ...
    receipt_handle: str
    @property
    def invisible_duration(self) -> Duration: ...
    message_id: str
    lite_topic: str
    suspend: bool
    def __init__(
        self, *,
        group: Resource | None = None,
        topic: Resource | None = None,
        receipt_handle: str | None = None,
        invisible_duration: Duration | None = None,
        message_id: str | None = None,
        lite_topic: str | None = None,
        suspend: bool | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["group", "topic", "invisible_duration", "lite_topic", "suspend"]) -> bool: ...

class ChangeInvisibleDurationResponse(_Message):
    @property
    def status(self) -> Status: ...
    receipt_handle: str
    def __init__(
        self, *,
        status: Status | None = None,
        receipt_handle: str | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class PullMessageRequest(_Message):
    @property
    def group(self) -> Resource: ...
    @property
    def message_queue(self) -> MessageQueue: ...
    offset: int
    batch_size: int
    @property
    def filter_expression(self) -> FilterExpression: ...
    @property
    def long_polling_timeout(self) -> Duration: ...
    def __init__(
        self, *,
        group: Resource | None = None,
        message_queue: MessageQueue | None = None,
        offset: int | None = None,
        batch_size: int | None = None,
        filter_expression: FilterExpression | None = None,
        long_polling_timeout: Duration | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["group", "message_queue", "filter_expression", "long_polling_timeout"]) -> bool: ...

class PullMessageResponse(_Message):
    @property
    def status(self) -> Status: ...
    @property
    def message(self) -> Message: ...
    next_offset: int
    def __init__(
        self, *,
        status: Status | None = None,
        message: Message | None = None,
        next_offset: int | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status", "message", "next_offset", "content"]) -> bool: ...
    def WhichOneof(
        self, oneof_group: Literal["content"]
    ) -> Literal["status", "message", "next_offset"] | None: ...

class UpdateOffsetRequest(_Message):
    @property
    def group(self) -> Resource: ...
    @property
    def message_queue(self) -> MessageQueue: ...
    offset: int
    def __init__(
        self, *,
        group: Resource | None = None,
        message_queue: MessageQueue | None = None,
        offset: int | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["group", "message_queue"]) -> bool: ...

class UpdateOffsetResponse(_Message):
    @property
    def status(self) -> Status: ...
    def __init__(
        self, *,
        status: Status | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class GetOffsetRequest(_Message):
    @property
    def group(self) -> Resource: ...
    @property
    def message_queue(self) -> MessageQueue: ...
    def __init__(
        self, *,
        group: Resource | None = None,
        message_queue: MessageQueue | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["group", "message_queue"]) -> bool: ...

class GetOffsetResponse(_Message):
    @property
    def status(self) -> Status: ...
    offset: int
    def __init__(
        self, *,
        status: Status | None = None,
        offset: int | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class QueryOffsetRequest(_Message):
    @property
    def message_queue(self) -> MessageQueue: ...
    query_offset_policy: QueryOffsetPolicy
    @property
    def timestamp(self) -> Timestamp: ...
    def __init__(
        self, *,
        message_queue: MessageQueue | None = None,
        query_offset_policy: QueryOffsetPolicy | None = None,
        timestamp: Timestamp | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["message_queue", "timestamp"]) -> bool: ...

class QueryOffsetResponse(_Message):
    @property
    def status(self) -> Status: ...
    offset: int
    def __init__(
        self, *,
        status: Status | None = None,
        offset: int | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class RecallMessageRequest(_Message):
    @property
    def topic(self) -> Resource: ...
    recall_handle: str
    def __init__(
        self, *,
        topic: Resource | None = None,
        recall_handle: str | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["topic"]) -> bool: ...

class RecallMessageResponse(_Message):
    @property
    def status(self) -> Status: ...
    message_id: str
    def __init__(
        self, *,
        status: Status | None = None,
        message_id: str | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

class SyncLiteSubscriptionRequest(_Message):
    action: LiteSubscriptionAction
    @property
    def topic(self) -> Resource: ...
    @property
    def group(self) -> Resource: ...
    @property
    def lite_topic_set(self) -> RepeatedScalarFieldContainer[str]: ...
    version: int
    @property
    def offset_option(self) -> OffsetOption: ...
    def __init__(
        self, *,
        action: LiteSubscriptionAction | None = None,
        topic: Resource | None = None,
        group: Resource | None = None,
        lite_topic_set: Iterable[str] | None = None,
        version: int | None = None,
        offset_option: OffsetOption | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["topic", "group", "version", "offset_option"]) -> bool: ...

class SyncLiteSubscriptionResponse(_Message):
    @property
    def status(self) -> Status: ...
    def __init__(
        self, *,
        status: Status | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["status"]) -> bool: ...

