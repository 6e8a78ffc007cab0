"""Locks and assignments."""

from mqgateway.gateway.codec.bodies import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    MessageQueueAssignment,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
)

QUEUE = MessageQueue("T", "b", 0)


def test_locks() -> None:
    request = LockBatchRequestBody.decode(
        b'{"clientId":"c","consumerGroup":"G","mqSet":[{"brokerName":"b","queueId":0,"topic":"T"}]}'
    )
    assert request == LockBatchRequestBody("G", "c", {QUEUE})
    assert LockBatchResponseBody({QUEUE}).encode() == (
        b'{"lockOKMQSet":[{"brokerName":"b","queueId":0,"topic":"T"}]}'
    )


def test_an_assignment() -> None:
    request = QueryAssignmentRequestBody.decode(
        b'{"clientId":"c","consumerGroup":"G","messageModel":"CLUSTERING","strategyName":"AVG","topic":"T"}'
    )
    assert request == QueryAssignmentRequestBody("T", "G", "c", "AVG", "CLUSTERING")
    assert QueryAssignmentResponseBody([MessageQueueAssignment(QUEUE, "POP")]).encode() == (
        b'{"messageQueueAssignments":[{"messageQueue":{"brokerName":"b","queueId":0,"topic":"T"},"mode":"POP"}]}'
    )
    assert QueryAssignmentResponseBody().encode() == b"{}", "the client keeps the queues it has"
