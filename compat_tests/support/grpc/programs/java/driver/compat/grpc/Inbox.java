package compat.grpc;

import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.rocketmq.client.apis.message.MessageView;

/** What a listener was given, in order; whoever asks waits for it. */
final class Inbox {
    private final List<Map<String, Object>> all = new ArrayList<>();
    private final Map<String, Integer> times = new HashMap<>();
    private final Set<String> refused;
    private final int failFirst;

    Inbox(JsonObject request) {
        this.refused = new HashSet<>(Shapes.texts(request, "refuse"));
        this.failFirst = request.has("failFirst") ? request.get("failFirst").getAsInt() : 0;
    }

    /** Note a message; whether its consumption succeeds: not for the first deliveries of each, nor if refused. */
    synchronized boolean accept(MessageView message) {
        try {
            Map<String, Object> shape = Shapes.shape(message);
            int turn = times.merge(message.getMessageId().toString(), 1, Integer::sum);
            shape.put("delivery", turn);
            all.add(shape);
            notifyAll();
            return turn > failFirst && !refused.contains((String) shape.get("body"));
        } catch (Exception failure) {
            throw new IllegalStateException(failure);
        }
    }

    synchronized List<Map<String, Object>> collect(JsonObject request) throws InterruptedException {
        int count = request.get("count").getAsInt();
        long end = System.currentTimeMillis() + request.get("millis").getAsLong();
        for (long left = end - System.currentTimeMillis(); all.size() < count && left > 0;
                left = end - System.currentTimeMillis()) {
            wait(left);
        }
        return new ArrayList<>(all);
    }
}
