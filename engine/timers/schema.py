"""The files of the timers, declared with construct: wheel, timer log, checkpoint.

This is the specification and the oracle that the fast paths (`wheel.py`, `timer_log.py`, `checkpoint.py`) are
tested against. All integers are big-endian. RocketMQ: `TimerWheel`, `Slot`, `TimerLog`, `TimerCheckpoint`.
"""

from construct import Array, Const, Int32sb, Int32ub, Int64sb, Padding, Struct

MAGIC_BLANK = 0xCBD43194
OWN_MAGIC = 0x6D71_6774_696D_6572
"""Magic of mqgateway's part of the checkpoint: "mqgtimer"."""

SLOT = Struct(
    "step" / Int64sb,  # the slot's time, ms divided by the precision
    "first" / Int64sb,  # position of its first unit in the timer log, -1 for none
    "last" / Int64sb,  # and of its last; units are chained backwards from there
    "count" / Int32sb,  # units that deliver minus units that delete
    "magic" / Int32sb,  # unused
)
"""One step of the wheel. A time's slot has the number `step` modulo twice the seconds of seven days."""


def wheel_file(slots: int) -> Struct:
    """Return the format of `timerwheel` with so many slots (RocketMQ's: 1,209,600); unused ones are zeros."""
    return Struct("slots" / Array(slots, SLOT))


UNIT = Struct(
    "size" / Const(52, Int32sb),
    "previous" / Int64sb,  # position of the unit before it in the same slot, -1 for none
    "magic" / Int32sb,  # 1, with 2 for a timer that is only rescheduled, with 4 for one that deletes another
    "written" / Int64sb,  # ms since the epoch, a whole number of steps
    "delay" / Int32sb,  # ms; written + delay is the slot's time
    "physical_offset" / Int64sb,  # the message in the commit log
    "message_size" / Int32sb,
    "topic_hash" / Int32sb,  # hashCode of the target topic
    "mark" / Int64sb,  # 0; mqgateway's: 1 for a unit that only records the offset in the timer topic
)
"""One timer in the timer log (`timerlog/`, files of 100 MiB)."""

TAIL = Struct("remaining" / Int32sb, "zero" / Const(0, Int64sb), "magic" / Const(MAGIC_BLANK, Int32ub))
"""The end of a timer log file that has no room for one more unit and a tail."""

CHECKPOINT = Struct(
    "read_time" / Int64sb,  # the slot to deliver next, ms since the epoch
    "log_position" / Int64sb,  # end of the timer log
    "queue_offset" / Int64sb,  # next message of the timer topic
    "master_queue_offset" / Int64sb,  # the next message of the master's timer topic
    "state_version" / Int64sb,
    "timestamp" / Int64sb,  # time of the last change, ms since the epoch
    "counter" / Int64sb,  # number of changes
)
"""RocketMQ's 56 bytes of `config/timercheck`, which also answer a slave's request."""

OWN = Struct(
    "magic" / Const(OWN_MAGIC, Int64sb),
    "standard_crc" / Int32ub,  # of the 56 bytes: another value shows a write by RocketMQ's broker
    "precision" / Int32sb,  # ms of a step
    "is_clean" / Int32sb,  # 1 after a clean stop
    "wheel_crc" / Int32ub,  # CRC32 of `timerwheel` after a clean stop; 0 if not recorded
    "reached" / Int64sb,  # the latest slot that was ever begun, ms since the epoch
    # State known to be on stable storage, all of the same moment:
    "read_time" / Int64sb,
    "log_position" / Int64sb,
    "queue_offset" / Int64sb,
    "commit_log_offset" / Int64sb,  # later deliveries are after it
    "crc" / Int32ub,  # of the bytes of this part before it
)
"""mqgateway's part of `config/timercheck`, which RocketMQ neither reads nor writes."""

CHECKPOINT_FILE = Struct("standard" / CHECKPOINT, Padding(8), "own" / OWN, Padding(4096 - 64 - 68))
"""The file `config/timercheck`."""
