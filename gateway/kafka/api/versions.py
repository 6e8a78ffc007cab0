"""ApiVersions: what this broker can do. Standard: `ApiVersionManager`, `ApiVersionsRequest`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from mqgateway.gateway.kafka.api import Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.apis import API_VERSIONS, APIS
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.api_versions_request import ApiVersionsRequest
from mqgateway.gateway.kafka.codec.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from mqgateway.gateway.kafka.node import Node

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
_METADATA_LEVEL = 33
_METADATA_MIN = 7
"""Levels of `metadata.version`: of 4.4, and the oldest that clients of it accept."""
_GROUP_LEVEL = 1
"""Level of `group.version`: consumer groups of KIP-848."""
_SHARE_LEVEL = 2
"""Level of `share.version`: share groups of KIP-932, with dead letters (KIP-1191)."""
_TRANSACTION_LEVEL = 2
"""Level of `transaction.version`: each transaction has an epoch of its own (KIP-890)."""
_LEVEL_0_SINCE = 4
"""Version from which clients know features whose lowest level is 0."""


class Versions:
    """The APIs that are announced: those with a function. `keys` returns them."""

    def __init__(self, node: Node, keys: Callable[[], Iterable[int]]) -> None:
        self._node = node
        self._keys = keys

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {API_VERSIONS: self.versions}

    def versions(self, call: KafkaCall, request: ApiVersionsRequest) -> ApiVersionsResponse:
        """Answer ApiVersions; a version that is too new with the versions that are supported."""
        api = APIS[API_VERSIONS]
        if not api.is_supported(call.version):
            own = ApiVersion(API_VERSIONS, api.oldest, api.latest)
            return ApiVersionsResponse(ErrorCode.UNSUPPORTED_VERSION, api_keys=[own])
        if call.version >= 3 and not all(
            map(_SOFTWARE.fullmatch, (request.client_software_name, request.client_software_version))
        ):
            return ApiVersionsResponse(ErrorCode.INVALID_REQUEST)
        if call.version >= 5:
            error = self._wrong_target(request)
            if error:
                return ApiVersionsResponse(error)
        keys = [ApiVersion(key, APIS[key].announced_oldest, APIS[key].latest) for key in sorted(self._keys())]
        if call.version < 3:
            return ApiVersionsResponse(api_keys=keys)
        return ApiVersionsResponse(
            api_keys=keys,
            supported_features=[
                SupportedFeatureKey("group.version", int(call.version < _LEVEL_0_SINCE), _GROUP_LEVEL),
                SupportedFeatureKey("metadata.version", _METADATA_MIN, _METADATA_LEVEL),
                SupportedFeatureKey("share.version", int(call.version < _LEVEL_0_SINCE), _SHARE_LEVEL),
                SupportedFeatureKey(
                    "transaction.version", int(call.version < _LEVEL_0_SINCE), _TRANSACTION_LEVEL
                ),
            ],
            finalized_features_epoch=0,
            finalized_features=[
                FinalizedFeatureKey("group.version", _GROUP_LEVEL, _GROUP_LEVEL),
                FinalizedFeatureKey("metadata.version", _METADATA_LEVEL, _METADATA_LEVEL),
                FinalizedFeatureKey("share.version", _SHARE_LEVEL, _SHARE_LEVEL),
                FinalizedFeatureKey("transaction.version", _TRANSACTION_LEVEL, _TRANSACTION_LEVEL),
            ],
        )

    def _wrong_target(self, request: ApiVersionsRequest) -> ErrorCode:
        """Return the error for a client that expects another cluster or node here."""
        cluster, node = request.cluster_id, request.node_id
        if (cluster is None) != (node == -1):
            return ErrorCode.INVALID_REQUEST
        if cluster is not None and (cluster, node) != (self._node.cluster_id, self._node.id):
            return ErrorCode.REBOOTSTRAP_REQUIRED
        return ErrorCode.NONE
