"""All routes of the API."""

from __future__ import annotations

from mqgateway.gateway.web.api import (
    access,
    brokers,
    cluster,
    cluster_groups,
    cluster_topics,
    connections,
    dead_letters,
    delayed,
    diagnosis,
    exports,
    groups,
    lites,
    messages,
    overview,
    pops,
    replication,
    resends,
    resets,
    session,
    settings,
    store,
    topics,
)
from mqgateway.gateway.web.route import Route

ROUTES: tuple[Route, ...] = (
    *session.ROUTES,
    *overview.ROUTES,
    *topics.ROUTES,
    *groups.ROUTES,
    *diagnosis.ROUTES,
    *resets.ROUTES,
    *messages.ROUTES,
    *exports.ROUTES,
    *resends.ROUTES,
    *dead_letters.ROUTES,
    *delayed.ROUTES,
    *pops.ROUTES,
    *lites.ROUTES,
    *cluster.ROUTES,
    *brokers.ROUTES,
    *replication.ROUTES,
    *cluster_topics.ROUTES,
    *cluster_groups.ROUTES,
    *connections.ROUTES,
    *store.ROUTES,
    *settings.ROUTES,
    *access.ROUTES,
)


def routes(*, read_only: bool) -> list[Route]:
    """Those that are there: none that changes anything in a read-only console."""
    return [route for route in ROUTES if not (read_only and route.is_write)]
