"""A throw-away line protocol: it shows what a protocol needs to enter the broker, and that nothing else does.

front_end   the declaration, the one thing that a server is given
connection  bytes to lines and back, over a connection of the broker's server
requests    lines to operations and back
"""

NAME = "line"
FIRST_BYTES = b"LINE"
