import pytest

from mqgateway.gateway.codec.bodies import SubscriptionData
from mqgateway.gateway.doctor.evidence import ConsumedQueue, QueueKey, Sample
from mqgateway.gateway.doctor.sampling import SAMPLED_QUEUES, TopicSampler

WANTED = SubscriptionData("T", "TagA", code_set=[1, 2])


def queue(number: int = 0, consumed: int = 4) -> ConsumedQueue:
    return ConsumedQueue(QueueKey("T", "broker-a", number), 3, 10, consumed)


@pytest.mark.parametrize(("consumed", "offset"), [(4, 4), (-1, 3), (1, 3), (10, None), (12, None)])
def test_sample_begins_at_the_next_message_of_the_group(consumed: int, offset: int | None) -> None:
    assert TopicSampler(WANTED).offset_in(queue(consumed=consumed)) == offset


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(None, id="unknown"),
        pytest.param(SubscriptionData("T", "*"), id="all"),
        pytest.param(SubscriptionData("T", "a > 1", expression_type="SQL92", code_set=[1]), id="sql"),
    ],
)
def test_filter_without_tags_is_not_sampled(wanted: SubscriptionData | None) -> None:
    assert TopicSampler(wanted).offset_in(queue()) is None


def test_sample_counts_the_messages_that_match() -> None:
    found = TopicSampler(WANTED).compared(queue(), [1, 7, 2, 0])
    assert (found.place, found.behind, found.sample) == (queue().place, 6, Sample(4, 2))


def test_sampler_stops_after_some_queues() -> None:
    sampler = TopicSampler(WANTED)
    for number in range(SAMPLED_QUEUES):
        assert sampler.offset_in(queue(number)) == 4
        sampler.compared(queue(number), [])
    assert sampler.offset_in(queue(99)) is None
