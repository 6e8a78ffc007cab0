"""Messages of apache.rocketmq.v2: the service that RocketMQ's clients call (rocketmq-apis v2.1.2).

`v2.pyi` beside this file has their types.
"""

from mqgateway.gateway.grpc.messages import names_of

globals().update(names_of("apache.rocketmq.v2"))
