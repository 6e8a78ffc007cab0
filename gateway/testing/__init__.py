"""A RocketMQ server for tests: a name server and a broker in this process, on real ports, in memory.

    with Server() as server:                         # ready in a fraction of a second
        topic = server.create_topic()
        service = OrderService(server.namesrv)       # yours, in Python, or a JVM that is given the address
        server.advance(10)                           # delays, retries and check-backs take no time
        server.refuse(SEND, code=2)                  # faults come when they are ordered
        server.kill()
        server.restart()

With pytest the fixtures `rocketmq_server`, `rocketmq_topic` and `rocketmq_group` are there without an import.

    server    `Server`: its life, topics and groups, what lies in it, its time, its faults
    nodes     its name server and broker, which are started, stopped and killed
    moving    the clock that leaps, or runs faster
    faults    requests that are lost, late, refused or cut off
    storage   disks that can be full, and survive a broker that is killed
    crashable the reactor of a service that can be killed in the middle of everything

The fixtures are `gateway.pytest_plugin`, outside so that pytest does not load all this before it is used.
"""

from mqgateway.gateway.testing.faults import ANY, PULL, SEND, Fault
from mqgateway.gateway.testing.nodes import ServerError
from mqgateway.gateway.testing.server import Server

__all__ = ["ANY", "PULL", "SEND", "Fault", "Server", "ServerError"]
