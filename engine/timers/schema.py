"""The files of the timers, written down in construct: wheel, timer log, checkpoint.

This is the specification to read and the oracle that the fast paths (`wheel.py`, `timer_log.py`,
`checkpoint.py`) are tested against. All integers are big-endian. Standard: `TimerWheel`, `Slot`, `TimerLog`,
`TimerCheckpoint`.
"""

from construct import Array, Const, Int32sb, Int32ub, Int64sb, Padding, Struct

MAGIC_BLANK = 0xCBD43194
OWN_MAGIC = 0x6D71_6774_696D_6572
"""Opens our part of the checkpoint: "mqgtimer"."""

SLOT = Struct(
    "step" / Int64sb,  # the slot's time, ms divided by the precision
    "first" / Int64sb,  # position of its first unit in the timer log, -1 for none
    "last" / Int64sb,  # and of its last; from there the units are chained backwards
    "count" / Int32sb,  # units that deliver less units that delete
    "magic" / Int32sb,  # unused
)
"""One step of the wheel. A time's slot is number `step` modulo twice the seconds of seven days."""


def wheel_file(slots: int) -> Struct:
    """The file `timerwheel` with so many slots (the standard's: 1,209,600); zeros where nothing was set."""
    return Struct("slots" / Array(slots, SLOT))


UNIT = Struct(
    "size" / Const(52, Int32sb),
    "previous" / Int64sb,  # position of the unit before it in the same slot, -1 for none
    "magic" / Int32sb,  # 1, with 2 for a timer that is only set anew, with 4 for one that deletes another
    "written" / Int64sb,  # ms since the epoch, a whole number of steps
    "delay" / Int32sb,  # ms; written + delay is the slot's time
    "physical_offset" / Int64sb,  # the message in the commit log
    "message_size" / Int32sb,
    "topic_hash" / Int32sb,  # hashCode of the topic it is for
    "mark" / Int64sb,  # 0; ours: 1 for a unit that only tells how far the queue of timers was read
)
"""One timer in the timer log (`timerlog/`, files of 100 MiB)."""

TAIL = Struct("remaining" / Int32sb, "zero" / Const(0, Int64sb), "magic" / Const(MAGIC_BLANK, Int32ub))
"""The end of a timer log file that has no room for one more unit and a tail."""

CHECKPOINT = Struct(
    "read_time" / Int64sb,  # the slot to be delivered next, ms since the epoch
    "log_position" / Int64sb,  # end of the timer log
    "queue_offset" / Int64sb,  # next message of the timer topic
    "master_queue_offset" / Int64sb,  # the same, of the master
    "state_version" / Int64sb,
    "timestamp" / Int64sb,  # when anything of this changed last, ms since the epoch
    "counter" / Int64sb,  # how often
)
"""The standard's 56 bytes of `config/timercheck`, which also answer a slave that asks for them."""

OWN = Struct(
    "magic" / Const(OWN_MAGIC, Int64sb),
    "standard_crc" / Int32ub,  # of the 56 bytes: another value, and a broker of the standard has been here
    "precision" / Int32sb,  # ms of a step
    "is_clean" / Int32sb,  # 1 after an orderly end
    "wheel_crc" / Int32ub,  # CRC32 of `timerwheel` after an orderly end; 0 when it was not noted
    "reached" / Int64sb,  # the latest slot that was ever begun, ms since the epoch
    # What is known to be on stable storage, all of the same moment:
    "read_time" / Int64sb,
    "log_position" / Int64sb,
    "queue_offset" / Int64sb,
    "commit_log_offset" / Int64sb,  # what was delivered after that moment lies behind it
    "crc" / Int32ub,  # of the bytes of this part before it
)
"""Our own part of `config/timercheck`, which the standard neither reads nor writes."""

CHECKPOINT_FILE = Struct("standard" / CHECKPOINT, Padding(8), "own" / OWN, Padding(4096 - 64 - 68))
"""The file `config/timercheck`."""
