package compat;

import org.apache.rocketmq.client.ClientConfig;

/** What clients do from time to time, they do more often than by default: scenarios wait for it. */
final class Pace {
    private static final int MILLIS = 5_000;

    private Pace() {
    }

    static void quicken(ClientConfig client) {
        client.setHeartbeatBrokerInterval(MILLIS);
        client.setPollNameServerInterval(MILLIS);
    }
}
