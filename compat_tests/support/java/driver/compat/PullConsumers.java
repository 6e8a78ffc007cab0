package compat;

import com.alibaba.fastjson.JSONObject;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.common.message.MessageQueue;

/** The pull consumer: every pull and every offset is asked for by the caller. */
@SuppressWarnings("deprecation")
final class PullConsumers {
    private final Map<String, DefaultMQPullConsumer> consumers = new ConcurrentHashMap<>();

    void register(Map<String, Driver.Op> ops) {
        ops.put("pull.start", this::start);
        ops.put("pull.stop", this::stop);
        ops.put("pull.queues", request -> Shapes.queues(consumer(request).fetchSubscribeMessageQueues(request.getString("topic"))));
        ops.put("pull.pull", this::pull);
        ops.put("pull.minOffset", request -> consumer(request).minOffset(queue(request)));
        ops.put("pull.maxOffset", request -> consumer(request).maxOffset(queue(request)));
        ops.put("pull.searchOffset", request -> consumer(request).searchOffset(queue(request), request.getLongValue("timestamp")));
        ops.put("pull.earliestStoreTime", request -> consumer(request).earliestMsgStoreTime(queue(request)));
        ops.put("pull.fetchOffset", request -> consumer(request).fetchConsumeOffset(queue(request), request.getBooleanValue("fromStore")));
        ops.put("pull.updateOffset", this::updateOffset);
    }

    private DefaultMQPullConsumer consumer(JSONObject request) {
        return consumers.get(request.getString("name"));
    }

    private static MessageQueue queue(JSONObject request) {
        return Shapes.queue(request.getJSONObject("queue"));
    }

    private Object start(JSONObject request) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(request.getString("group"));
        consumer.setNamesrvAddr(request.getString("namesrv"));
        Driver.configure(consumer, request.getString("name"));
        consumer.start();
        consumers.put(request.getString("name"), consumer);
        return consumer.buildMQClientId();
    }

    private Object stop(JSONObject request) {
        consumers.remove(request.getString("name")).shutdown();
        return true;
    }

    private Object pull(JSONObject request) throws Exception {
        DefaultMQPullConsumer consumer = consumer(request);
        if (!(request.get("expression") instanceof String)) {
            return shape(consumer.pull(queue(request), Selectors.of(request.get("expression")),
                request.getLongValue("offset"), request.getIntValue("max")));
        }
        String expression = request.getString("expression");
        long offset = request.getLongValue("offset");
        int max = request.getIntValue("max");
        PullResult result = request.getBooleanValue("block")
            ? consumer.pullBlockIfNotFound(queue(request), expression, offset, max)
            : consumer.pull(queue(request), expression, offset, max);
        return shape(result);
    }

    private static Object shape(PullResult result) {
        Map<String, Object> shape = new LinkedHashMap<>();
        shape.put("status", result.getPullStatus().name());
        shape.put("nextBeginOffset", result.getNextBeginOffset());
        shape.put("minOffset", result.getMinOffset());
        shape.put("maxOffset", result.getMaxOffset());
        shape.put("messages", Shapes.received(result.getMsgFoundList()));
        return shape;
    }

    private Object updateOffset(JSONObject request) throws Exception {
        DefaultMQPullConsumer consumer = consumer(request);
        consumer.updateConsumeOffset(queue(request), request.getLongValue("offset"));
        consumer.getOffsetStore().persist(queue(request));
        return true;
    }
}
