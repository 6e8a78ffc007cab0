#!/bin/sh
# What a container runs: a role of Apache's image, by word or NODE_ROLE, `serve` (name server and broker in one), or
# any command, as in `sh mqbroker -c /opt/rocketmq-5.5.0/conf/broker.conf`.
set -eu
if [ $# -eq 0 ] || [ "$1" = dummy ]; then
    set -- "${NODE_ROLE:-serve}"
fi
word=$1
case $word in
    nameserver | broker | controller | brokerContainer | serve) shift ;;
    *) exec "$@" ;;
esac
case $word in
    nameserver) exec ./mqnamesrv "$@" ;;
    broker) exec ./mqbroker -c "$ROCKETMQ_HOME/conf/broker.conf" "$@" ;;
    controller) exec ./mqcontroller -c "$ROCKETMQ_HOME/conf/controller.conf" "$@" ;;
    brokerContainer) exec ./mqbrokercontainer -c "$ROCKETMQ_HOME/conf/broker-container.conf" "$@" ;;
    serve) exec mqgateway serve "$@" ;;
esac
