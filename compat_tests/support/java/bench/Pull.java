package bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * A whole topic through the official pull consumer, a queue at a time on each thread; one line of JSON as
 * result.
 *
 * <p>Usage: Pull NAMESRV TOPIC THREADS
 */
public final class Pull {
    private Pull() {}

    public static void main(String[] args) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("bench_pull");
        consumer.setNamesrvAddr(args[0]);
        consumer.start();
        List<MessageQueue> queues = new ArrayList<>(consumer.fetchSubscribeMessageQueues(args[1]));
        ExecutorService pool = Executors.newFixedThreadPool(Integer.parseInt(args[2]));
        AtomicLong count = new AtomicLong();
        AtomicReference<Exception> failure = new AtomicReference<>();
        CountDownLatch left = new CountDownLatch(queues.size());
        long began = System.nanoTime();
        for (MessageQueue queue : queues) {
            pool.submit(() -> {
                try {
                    count.addAndGet(read(consumer, queue));
                } catch (Exception e) {
                    failure.set(e);
                } finally {
                    left.countDown();
                }
            });
        }
        left.await();
        double seconds = (System.nanoTime() - began) / 1e9;
        if (failure.get() != null) {
            throw failure.get();
        }
        System.out.printf("{\"count\": %d, \"perSecond\": %.1f}%n", count.get(), count.get() / seconds);
        System.exit(0);
    }

    private static long read(DefaultMQPullConsumer consumer, MessageQueue queue) throws Exception {
        long end = consumer.maxOffset(queue);
        long offset = consumer.minOffset(queue);
        long count = 0;
        while (offset < end) {
            PullResult result = consumer.pull(queue, "*", offset, 32);
            if (result.getMsgFoundList() != null) {
                count += result.getMsgFoundList().size();
            }
            offset = result.getNextBeginOffset();
        }
        return count;
    }
}
