"""Pulls of one consumer group: who is asked, how, and what the answer means.

A broker may suggest another of its group (a slave, when it has too much to do) for the next pull of a queue.
Only masters take commits that ride on pulls. Standard: `PullAPIWrapper`, `PullSysFlag`.
"""

from __future__ import annotations

from collections.abc import Collection

from mqgateway.gateway.client.answers import decode_header
from mqgateway.gateway.client.client import Client
from mqgateway.gateway.client.errors import BrokerError
from mqgateway.gateway.client.message import PullResult, PullStatus
from mqgateway.gateway.client.reading import bounds, read_messages, wanted
from mqgateway.gateway.client.routes import MASTER
from mqgateway.gateway.codec.bodies import MessageQueue, SubscriptionData
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import PullMessageRequestHeader, PullMessageResponseHeader

COMMIT, SUSPEND, SUBSCRIPTION, LITE = 1, 2, 4, 16
BYTES_MAX = 2**31 - 1

STATUS = {
    ResponseCode.SUCCESS: PullStatus.FOUND,
    ResponseCode.PULL_NOT_FOUND: PullStatus.NO_NEW_MSG,
    ResponseCode.PULL_RETRY_IMMEDIATELY: PullStatus.NO_MATCHED_MSG,
    ResponseCode.PULL_OFFSET_MOVED: PullStatus.OFFSET_ILLEGAL,
}


class Puller:
    """Pulls of one group."""

    def __init__(self, client: Client, group: str) -> None:
        self._client = client
        self._group = group
        self._suggested: dict[MessageQueue, int] = {}

    async def pull(
        self,
        queue: MessageQueue,
        subscribed: SubscriptionData,
        offset: int,
        *,
        count: int,
        timeout: float,
        bytes_max: int = BYTES_MAX,
        suspend_millis: int = 0,
        commit: int = -1,
        sends_expression: bool = False,
        is_lite: bool = False,
    ) -> PullResult:
        """Messages of a queue from `offset` on, at most `count`.

        With `suspend_millis` the broker waits so long for messages if there are none; `commit` is an offset
        that goes along, -1 for none; `timeout` in seconds. Raises as `gateway.client.calls`.
        """
        place = await self._client.place_of(queue, self._suggested.get(queue, MASTER))
        flags = SUSPEND if suspend_millis else 0
        flags |= COMMIT if commit > 0 and not place.is_slave else 0
        flags |= SUBSCRIPTION if sends_expression else 0
        flags |= LITE if is_lite else 0
        header = PullMessageRequestHeader(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            queue_offset=offset,
            max_msg_nums=count,
            sys_flag=flags,
            commit_offset=max(0, commit),
            suspend_timeout_millis=suspend_millis,
            subscription=subscribed.sub_string if sends_expression else None,
            sub_version=subscribed.sub_version,
            expression_type=subscribed.expression_type,
            max_msg_bytes=bytes_max,
            bname=queue.broker_name,
        )
        code = RequestCode.LITE_PULL_MESSAGE if is_lite else RequestCode.PULL_MESSAGE
        answer = await self._client.asking.ask(place.address, code, header, timeout=timeout)
        status = STATUS.get(answer.code)  # type: ignore[call-overload]
        if status is None:
            raise BrokerError(answer.code, answer.remark, place.address)
        found = decode_header(PullMessageResponseHeader, answer)
        self._suggested[queue] = found.suggest_which_broker_id
        messages = []
        if status is PullStatus.FOUND:
            ends = bounds(found.min_offset, found.max_offset)
            messages = read_messages(answer.body, queue.broker_name, ends)
            if found.offset_delta:
                for message in messages:
                    message.queue_offset += found.offset_delta
            messages = wanted(messages, subscribed.tags_set)
        return PullResult(status, found.next_begin_offset, found.min_offset, found.max_offset, messages)

    def keep(self, queues: Collection[MessageQueue]) -> None:
        """Forget what was suggested for other queues than these."""
        for queue in [queue for queue in self._suggested if queue not in queues]:
            del self._suggested[queue]
