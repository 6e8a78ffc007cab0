"""What a producer says of the message, or the batch of messages, that it sends.

`MessageRequest` names what sends and replies read of it. The decoded header of a remoting request is one as
it stands; other doors hand over objects of their own. Standard: `SendMessageRequestHeader`.
"""

from typing import Protocol


class MessageRequest(Protocol):
    """A message but for its body, as its producer describes it."""

    @property
    def producer_group(self) -> str:
        """The group of the producer."""

    @property
    def topic(self) -> str:
        """The topic to send to."""

    @property
    def default_topic(self) -> str:
        """The topic that a new one is copied from."""

    @property
    def default_topic_queue_nums(self) -> int:
        """How many queues a new topic is to have."""

    @property
    def queue_id(self) -> int:
        """The queue to put it into; below 0 where the broker is to choose one."""

    @property
    def sys_flag(self) -> int:
        """Bits of `engine.message.SysFlag`."""

    @property
    def born_timestamp(self) -> int:
        """When the producer made it, in ms since the epoch."""

    @property
    def flag(self) -> int:
        """Bits that are the application's own."""

    @property
    def properties(self) -> str | dict[str, str] | None:
        """Its properties as a record holds them, name \\x01 value \\x02 ..., or by name; the operation may
        keep and change a dictionary."""

    @property
    def reconsume_times(self) -> int | None:
        """How often it was consumed in vain; None for never."""

    @property
    def unit_mode(self) -> bool | None:
        """Whether a topic that is made for it belongs to a unit."""

    @property
    def batch(self) -> bool | None:
        """Whether the body holds several messages."""

    @property
    def max_reconsume_times(self) -> int | None:
        """After how many vain turns a retry is a dead letter; None where the group's setting says it."""
