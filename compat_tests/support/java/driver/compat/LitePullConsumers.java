package compat;

import com.alibaba.fastjson.JSONObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** The lite pull consumer, by subscription or with queues assigned by hand. */
final class LitePullConsumers {
    private final Map<String, DefaultLitePullConsumer> consumers = new ConcurrentHashMap<>();

    void register(Map<String, Driver.Op> ops) {
        ops.put("lite.start", this::start);
        ops.put("lite.stop", this::stop);
        ops.put("lite.queues", request -> Shapes.queues(consumer(request).fetchMessageQueues(request.getString("topic"))));
        ops.put("lite.assign", this::assign);
        ops.put("lite.seek", this::seek);
        ops.put("lite.poll", this::poll);
        ops.put("lite.commit", this::commit);
        ops.put("lite.committed", request -> consumer(request).committed(queue(request)));
        ops.put("lite.offsetForTimestamp", request -> consumer(request).offsetForTimestamp(queue(request), request.getLongValue("timestamp")));
    }

    private DefaultLitePullConsumer consumer(JSONObject request) {
        return consumers.get(request.getString("name"));
    }

    private static MessageQueue queue(JSONObject request) {
        return Shapes.queue(request.getJSONObject("queue"));
    }

    private Object start(JSONObject request) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(request.getString("group"));
        consumer.setNamesrvAddr(request.getString("namesrv"));
        Driver.configure(consumer, request.getString("name"));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setAutoCommit(request.getBooleanValue("autoCommit"));
        JSONObject subscriptions = request.getJSONObject("subscriptions");
        if (subscriptions != null) {
            for (String topic : subscriptions.keySet()) {
                consumer.subscribe(topic, Selectors.of(subscriptions.get(topic)));
            }
        }
        consumer.start();
        consumers.put(request.getString("name"), consumer);
        return consumer.buildMQClientId();
    }

    private Object stop(JSONObject request) {
        consumers.remove(request.getString("name")).shutdown();
        return true;
    }

    private Object assign(JSONObject request) {
        consumer(request).assign(Shapes.queues(request.getJSONArray("queues")));
        return true;
    }

    private Object seek(JSONObject request) throws Exception {
        DefaultLitePullConsumer consumer = consumer(request);
        String where = request.getString("where");
        if ("begin".equals(where)) {
            consumer.seekToBegin(queue(request));
        } else if ("end".equals(where)) {
            consumer.seekToEnd(queue(request));
        } else {
            consumer.seek(queue(request), Long.parseLong(where));
        }
        return true;
    }

    /** Polls until at least count messages came or the time is over. */
    private Object poll(JSONObject request) {
        List<MessageExt> messages = new ArrayList<>();
        long end = System.currentTimeMillis() + request.getLongValue("millis");
        do {
            messages.addAll(consumer(request).poll(Math.max(1, Math.min(1000, end - System.currentTimeMillis()))));
        } while (messages.size() < request.getIntValue("count") && System.currentTimeMillis() < end);
        return Shapes.received(messages);
    }

    @SuppressWarnings("deprecation")
    private Object commit(JSONObject request) {
        consumer(request).commitSync();
        return true;
    }
}
