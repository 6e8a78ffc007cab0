"""The protocol front ends, in the order of their start; they stop in reverse order.

The remoting protocol is not among them. Its server has the ports that every broker opens, accepts the
connections of the others, and ends each read with the turn in which stored messages become readable.
"""

from mqgateway.gateway.front_end import FrontEnd
from mqgateway.gateway.grpc.front_end import GRPC
from mqgateway.gateway.kafka.front_end import KAFKA
from mqgateway.gateway.web.front_end import CONSOLE

FRONT_ENDS: tuple[FrontEnd, ...] = (GRPC, KAFKA, CONSOLE)
