package compat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.MessageExt;

/** What a consumer was given, in the order it was given, and which deliveries it is to refuse. */
final class Inbox {
    private final List<Object> received = new ArrayList<>();
    private final Map<String, Integer> deliveries = new HashMap<>();
    private final int failFirst;

    /** Refuses the first failFirst deliveries of each message. */
    Inbox(int failFirst) {
        this.failFirst = failFirst;
    }

    /** Takes a delivery; false when the message is to be consumed again later. */
    synchronized boolean accept(List<MessageExt> messages) {
        boolean accepted = true;
        for (MessageExt message : messages) {
            Map<String, Object> shape = Shapes.received(message);
            int delivery = deliveries.merge(String.valueOf(shape.get("uniqueKey")), 1, Integer::sum);
            shape.put("delivery", delivery);
            shape.put("receivedAt", System.currentTimeMillis());
            received.add(shape);
            accepted &= delivery > failFirst;
        }
        notifyAll();
        return accepted;
    }

    /** Waits until at least count deliveries came, or the time is over; answers all of them. */
    synchronized List<Object> collect(int count, long millis) throws InterruptedException {
        long end = System.currentTimeMillis() + millis;
        while (received.size() < count) {
            long left = end - System.currentTimeMillis();
            if (left <= 0) {
                break;
            }
            wait(left);
        }
        return new ArrayList<>(received);
    }
}
