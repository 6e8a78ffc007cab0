package compat;

import com.alibaba.fastjson.JSONObject;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Request and reply: those who ask, and those who answer "re: " and what they were asked. */
final class Repliers {
    private final Map<String, DefaultMQProducer> producers = new ConcurrentHashMap<>();
    private final Map<String, DefaultMQPushConsumer> consumers = new ConcurrentHashMap<>();
    private final Map<String, Inbox> inboxes = new ConcurrentHashMap<>();

    void register(Map<String, Driver.Op> ops) {
        ops.put("requester.start", this::start);
        ops.put("requester.stop", this::stop);
        ops.put("requester.request", this::request);
        ops.put("replier.start", this::startReplier);
        ops.put("replier.stop", this::stop);
        ops.put("replier.collect", request -> inboxes.get(request.getString("name"))
            .collect(request.getIntValue("count"), request.getLongValue("millis")));
    }

    private Object start(JSONObject request) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(request.getString("group"));
        producer.setNamesrvAddr(request.getString("namesrv"));
        Driver.configure(producer, request.getString("name"));
        producer.setRetryTimesWhenSendFailed(0);
        producer.start();
        producers.put(request.getString("name"), producer);
        return producer.buildMQClientId();
    }

    private Object stop(JSONObject request) {
        DefaultMQPushConsumer consumer = consumers.remove(request.getString("name"));
        if (consumer != null) {
            consumer.shutdown();
        }
        producers.remove(request.getString("name")).shutdown();
        return true;
    }

    private Object request(JSONObject request) throws Exception {
        Message asked = Shapes.message(request.getJSONObject("message"));
        Message reply = producers.get(request.getString("name")).request(asked, request.getLongValue("ttl"));
        JSONObject shape = new JSONObject();
        shape.put("body", new String(reply.getBody(), StandardCharsets.UTF_8));
        shape.put("properties", reply.getProperties());
        return shape;
    }

    private Object startReplier(JSONObject request) throws Exception {
        Object clientId = start(request);
        DefaultMQProducer producer = producers.get(request.getString("name"));
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(request.getString("group"));
        consumer.setNamesrvAddr(request.getString("namesrv"));
        Driver.configure(consumer, request.getString("name"));
        consumer.subscribe(request.getString("topic"), "*");
        Inbox inbox = new Inbox(0);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            inbox.accept(messages);
            for (MessageExt message : messages) {
                String body = new String(message.getBody(), StandardCharsets.UTF_8);
                if (message.getUserProperty("silent") != null || MessageUtil.getReplyToClient(message) == null) {
                    continue;
                }
                try {
                    producer.send(MessageUtil.createReplyMessage(message, ("re: " + body).getBytes(StandardCharsets.UTF_8)), 3000);
                } catch (Exception failure) {
                    failure.printStackTrace();
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        inboxes.put(request.getString("name"), inbox);
        consumers.put(request.getString("name"), consumer);
        consumer.start();
        return clientId;
    }
}
