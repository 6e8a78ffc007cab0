package compat;

import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Lets clients end at once. One of 5.x that is shut down waits for its thread of connection events, which looks
 * only every 3 s whether it is to end: nearly every end of a producer took that long. Here that thread is
 * interrupted while somebody waits for its end, which it takes for a look that found nothing.
 */
public final class ShortEnds {
    private static final String EVENTS = "NettyEventExecutor";
    private static final long LOOK_MILLIS = 20;

    private static final Set<Thread> WATCHED = ConcurrentHashMap.newKeySet();

    static {
        Thread watcher = new Thread(ShortEnds::watch, "short-ends");
        watcher.setDaemon(true);
        watcher.start();
    }

    private ShortEnds() {
    }

    /** Does something in which clients may be shut down by this thread. */
    public static <T> T in(Callable<T> work) throws Exception {
        WATCHED.add(Thread.currentThread());
        try {
            return work.call();
        } finally {
            WATCHED.remove(Thread.currentThread());
        }
    }

    private static void watch() {
        while (true) {
            long[] ids = WATCHED.stream().mapToLong(Thread::getId).toArray();
            for (ThreadInfo info : ManagementFactory.getThreadMXBean().getThreadInfo(ids)) {
                LockInfo lock = info == null ? null : info.getLockInfo();
                if (lock != null && lock.getClassName().equals(Thread.class.getName())) {
                    wake(lock.getIdentityHashCode());
                }
            }
            try {
                Thread.sleep(LOOK_MILLIS);
            } catch (InterruptedException ended) {
                return;
            }
        }
    }

    /** Interrupts the thread whose end is waited for, if it is one of connection events. */
    private static void wake(int identity) {
        Thread[] threads = new Thread[Thread.activeCount() * 2];
        int count = Thread.enumerate(threads);
        for (int i = 0; i < count; i++) {
            if (System.identityHashCode(threads[i]) == identity && threads[i].getName().equals(EVENTS)) {
                threads[i].interrupt();
            }
        }
    }
}
