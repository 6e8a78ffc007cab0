"""gRPC: the door for clients that speak apache.rocketmq.v2.MessagingService."""
