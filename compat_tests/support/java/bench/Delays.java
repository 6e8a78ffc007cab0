package bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Messages with delay level 1, sent and received; the clock stops a second before the last comes.
 *
 * <p>Times are how much later than a second after its sending a message was received.
 */
final class Delays {
    private static final int LEVEL = 1;
    private static final long DELAY_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long ARRIVE_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final Load load;
    private final AtomicLong delayed = new AtomicLong();
    private final AtomicLong received = new AtomicLong();
    private final AtomicLong last = new AtomicLong();
    private volatile List<Long> late = Collections.synchronizedList(new ArrayList<>());

    Delays(Load load) {
        this.load = load;
    }

    void run() throws Exception {
        DefaultMQProducer producer = load.producer();
        DefaultMQPushConsumer consumer =
            Consuming.consumer(load, ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(load.topic, "*");
        consumer.setConsumeMessageBatchMaxSize(32);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            receive(messages);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        send(producer, System.nanoTime() + Load.warmUpNanos(load.amount));
        arrive();
        late = Collections.synchronizedList(new ArrayList<>());
        long begin = System.nanoTime();
        Load.mark("begin", begin);
        send(producer, begin + TimeUnit.SECONDS.toNanos(load.amount));
        arrive();
        Load.mark("end", last.get());
        load.failed.addAndGet(Math.abs(delayed.get() - received.get()));
        long[] times = late.stream().mapToLong(Long::longValue).toArray();
        load.report("delay", Collections.singletonList(times), 1, (last.get() - begin - DELAY_NANOS) / 1e9);
        producer.shutdown();
        consumer.shutdown();
    }

    private void receive(List<MessageExt> messages) {
        long now = System.nanoTime();
        List<Long> times = late;
        for (MessageExt message : messages) {
            String sent = message.getUserProperty("sent");
            if (sent != null) {
                times.add(Math.max(0, now - Long.parseLong(sent) - DELAY_NANOS));
                received.incrementAndGet();
            }
        }
        last.accumulateAndGet(now, Math::max);
    }

    /** Waits until all that was sent has come. */
    private void arrive() throws Exception {
        long end = System.nanoTime() + ARRIVE_NANOS;
        while (received.get() < delayed.get() && System.nanoTime() < end) {
            Thread.sleep(5);
        }
    }

    private void send(DefaultMQProducer producer, long end) throws Exception {
        Thread[] workers = new Thread[load.threads];
        for (int i = 0; i < load.threads; i++) {
            workers[i] = new Thread(() -> sendUntil(producer, end));
            workers[i].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
    }

    private void sendUntil(DefaultMQProducer producer, long end) {
        for (long now = System.nanoTime(); now < end; now = System.nanoTime()) {
            Message message = new Message(load.topic, load.body);
            message.setDelayTimeLevel(LEVEL);
            message.putUserProperty("sent", Long.toString(now));
            try {
                producer.send(message);
                delayed.incrementAndGet();
            } catch (Exception e) {
                load.failed.incrementAndGet();
            }
        }
    }
}
