package compat;

import com.alibaba.fastjson.JSONObject;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;

/** Push consumers, concurrent and ordered; each keeps what it received in an inbox. */
final class PushConsumers {
    /** What listeners that have begun get to end, and messages they refused to be sent back, at a stop. */
    private static final long SETTLE_MILLIS = 5_000;

    private final Map<String, DefaultMQPushConsumer> consumers = new ConcurrentHashMap<>();
    private final Map<String, Inbox> inboxes = new ConcurrentHashMap<>();

    void register(Map<String, Driver.Op> ops) {
        ops.put("push.start", this::start);
        ops.put("push.stop", this::stop);
        ops.put("push.collect", request -> inboxes.get(request.getString("name"))
            .collect(request.getIntValue("count"), request.getLongValue("millis")));
        ops.put("push.assigned", request -> Shapes.queues(consumers.get(request.getString("name"))
            .getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet()));
    }

    private Object start(JSONObject request) throws Exception {
        String name = request.getString("name");
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(request.getString("group"));
        consumer.setNamesrvAddr(request.getString("namesrv"));
        Driver.configure(consumer, name);
        consumer.setConsumeFromWhere(ConsumeFromWhere.valueOf(request.getString("from")));
        consumer.setAwaitTerminationMillisWhenShutdown(SETTLE_MILLIS);
        consumer.setConsumeThreadMin(4);
        consumer.setConsumeThreadMax(4);
        Shapes.setEnum(consumer, "setMessageModel", request.getString("model"));
        if (request.containsKey("maxReconsumeTimes")) {
            consumer.setMaxReconsumeTimes(request.getIntValue("maxReconsumeTimes"));
        }
        if (request.containsKey("clientRebalance")) {
            // Only version 5 has it.
            DefaultMQPushConsumer.class.getMethod("setClientRebalance", boolean.class)
                .invoke(consumer, request.getBooleanValue("clientRebalance"));
        }
        JSONObject subscriptions = request.getJSONObject("subscriptions");
        for (String topic : subscriptions.keySet()) {
            consumer.subscribe(topic, Selectors.of(subscriptions.get(topic)));
        }
        Inbox inbox = new Inbox(request.getIntValue("failFirst"));
        if ("ordered".equals(request.getString("listener"))) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> inbox.accept(messages)
                ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT);
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> inbox.accept(messages)
                ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER);
        }
        inboxes.put(name, inbox);
        consumers.put(name, consumer);
        consumer.start();
        return consumer.buildMQClientId();
    }

    private Object stop(JSONObject request) {
        DefaultMQPushConsumer consumer = consumers.remove(request.getString("name"));
        inboxes.remove(request.getString("name"));
        consumer.shutdown();
        return true;
    }
}
