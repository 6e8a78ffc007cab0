package bench;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * A producer and a consumer of one topic while its master changes: when sends were acknowledged and when messages
 * came, in milliseconds of the wall clock.
 *
 * <p>Usage: Succession NAMESRV TOPIC THREADS SEND_TIMEOUT_MILLIS ROUTE_MILLIS. It says {"flowing":true} when
 * messages flow, waits for a line, and says {"acks":[...],"reads":[...]}. Clients look for routes each
 * ROUTE_MILLIS; all else is their default.
 */
public final class Succession {
    private static final long PAUSE_MILLIS = 5;

    private final ConcurrentLinkedQueue<Long> acks = new ConcurrentLinkedQueue<>();
    private final ConcurrentLinkedQueue<Long> reads = new ConcurrentLinkedQueue<>();
    private volatile boolean sending = true;

    public static void main(String[] args) {
        try {
            new Succession().run(args[0], args[1], Integer.parseInt(args[2]), Integer.parseInt(args[3]),
                Integer.parseInt(args[4]));
            System.exit(0);
        } catch (Exception e) {
            // The clients' threads would keep it running.
            System.out.println("failed: " + e);
            System.exit(1);
        }
    }

    private void run(String nameServer, String topic, int threads, int sendTimeout, int routeMillis)
        throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("succession_producer");
        producer.setNamesrvAddr(nameServer);
        producer.setSendMsgTimeout(sendTimeout);
        producer.setPollNameServerInterval(routeMillis);
        producer.start();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("succession_consumer");
        consumer.setNamesrvAddr(nameServer);
        consumer.setPollNameServerInterval(routeMillis);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                reads.add(System.currentTimeMillis());
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Thread[] workers = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            workers[i] = new Thread(() -> send(producer, topic));
            workers[i].start();
        }
        while (reads.size() < 500) {
            Thread.sleep(50);
        }
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("{\"flowing\":true}");
        commands.readLine();
        sending = false;
        for (Thread worker : workers) {
            worker.join();
        }
        System.out.printf("{\"acks\":[%s],\"reads\":[%s]}%n", joined(acks), joined(reads));
    }

    private static String joined(ConcurrentLinkedQueue<Long> times) {
        return times.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    private void send(DefaultMQProducer producer, String topic) {
        for (long number = 0; sending; number++) {
            try {
                if (producer.send(new Message(topic, ("m" + number).getBytes())).getSendStatus()
                    == SendStatus.SEND_OK) {
                    acks.add(System.currentTimeMillis());
                }
                Thread.sleep(PAUSE_MILLIS);
            } catch (Exception e) {
                System.out.println("failed: " + e);
            }
        }
    }
}
