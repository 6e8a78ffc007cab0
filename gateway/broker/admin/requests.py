"""All requests of administration, by subject."""

from mqgateway.gateway.broker.admin import (
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
from mqgateway.gateway.broker.needs import RequestDeclaration

REQUESTS: dict[int, RequestDeclaration] = {
    **topic_requests.REQUESTS,
    **group_requests.REQUESTS,
    **table_requests.REQUESTS,
    **consumer_requests.REQUESTS,
    **progress_requests.REQUESTS,
    **lite_requests.REQUESTS,
    **broker_requests.REQUESTS,
    **cold_data_requests.REQUESTS,
    **inapplicable_requests.REQUESTS,
}
