package bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Transactions that are committed at once; the clock runs until the last of them can be read. */
final class Transactions {
    private final Load load;

    Transactions(Load load) {
        this.load = load;
    }

    void run() throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("bench_transactions");
        producer.setTransactionListener(new TransactionListener() {
            @Override public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }

            @Override public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        load.started(producer);
        long warm = System.nanoTime() + Load.warmUpNanos(load.amount);
        send(producer, warm);
        load.settle(producer);
        long begin = System.nanoTime();
        Load.mark("begin", begin);
        List<long[]> times = send(producer, begin + TimeUnit.SECONDS.toNanos(load.amount));
        load.settle(producer);
        long settled = System.nanoTime();
        Load.mark("end", settled);
        load.report("transactions", times, 1, (settled - begin) / 1e9);
        producer.shutdown();
    }

    private List<long[]> send(TransactionMQProducer producer, long end) throws Exception {
        List<long[]> times = Collections.synchronizedList(new ArrayList<>());
        Thread[] workers = new Thread[load.threads];
        for (int i = 0; i < load.threads; i++) {
            workers[i] = new Thread(() -> times.add(sendUntil(producer, end)));
            workers[i].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        return times;
    }

    private long[] sendUntil(TransactionMQProducer producer, long end) {
        long[] taken = new long[1 << 16];
        int count = 0;
        while (true) {
            long start = System.nanoTime();
            if (start >= end) {
                return Arrays.copyOf(taken, count);
            }
            try {
                TransactionSendResult result =
                    producer.sendMessageInTransaction(new Message(load.topic, load.body), null);
                if (result.getSendStatus() == SendStatus.SEND_OK) {
                    load.sent.incrementAndGet();
                } else {
                    load.failed.incrementAndGet();
                }
            } catch (Exception e) {
                load.failed.incrementAndGet();
            }
            if (count == taken.length) {
                taken = Arrays.copyOf(taken, count * 2);
            }
            taken[count++] = System.nanoTime() - start;
        }
    }
}
