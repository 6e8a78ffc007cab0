"""Enums of Java's that bodies have as members: text here, its place in the declaration on some clients' wire.

Standard: the enums of the same names.
"""

from typing import Annotated

from mqgateway.gateway.codec import codes
from mqgateway.gateway.codec.bodies.body import Names

ConsumeType = Annotated[str, Names(("CONSUME_ACTIVELY", "CONSUME_PASSIVELY", "CONSUME_POP"))]
MessageModel = Annotated[str, Names(("BROADCASTING", "CLUSTERING", "LITE_SELECTIVE"))]
ConsumeFromWhere = Annotated[
    str,
    Names(
        (
            "CONSUME_FROM_LAST_OFFSET",
            "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
            "CONSUME_FROM_MIN_OFFSET",
            "CONSUME_FROM_MAX_OFFSET",
            "CONSUME_FROM_FIRST_OFFSET",
            "CONSUME_FROM_TIMESTAMP",
        )
    ),
]
LanguageCode = Annotated[str, Names(tuple(language.name for language in codes.LanguageCode))]
MessageRequestMode = Annotated[str, Names(("PULL", "POP"))]
CMResult = Annotated[
    str,
    Names(
        ("CR_SUCCESS", "CR_LATER", "CR_ROLLBACK", "CR_COMMIT", "CR_THROW_EXCEPTION", "CR_RETURN_NULL"),
    ),
]
OffsetOptionType = Annotated[str, Names(("POLICY", "OFFSET", "TAIL_N", "TIMESTAMP"))]
LiteSubscriptionAction = Annotated[
    str, Names(("PARTIAL_ADD", "PARTIAL_REMOVE", "COMPLETE_ADD", "COMPLETE_REMOVE"))
]
