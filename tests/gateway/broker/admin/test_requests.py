"""One table holds what every subject of administration answers."""

from mqgateway.gateway.broker.admin import (
    broker_requests,
    cold_data_requests,
    consumer_requests,
    group_requests,
    inapplicable_requests,
    lite_requests,
    progress_requests,
    requests,
    table_requests,
    topic_requests,
)


def test_every_code_is_served_once() -> None:
    subjects = (
        broker_requests,
        cold_data_requests,
        consumer_requests,
        group_requests,
        inapplicable_requests,
        lite_requests,
        progress_requests,
        table_requests,
        topic_requests,
    )
    assert len(requests.REQUESTS) == sum(len(subject.REQUESTS) for subject in subjects)
