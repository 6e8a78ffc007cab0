package compat.official;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** The servers that run outside, as system properties name them, and the admin client that asks them. */
public final class Cluster {
    public static final String NAME_SERVER = System.getProperty("official.namesrv");
    public static final String NAME = System.getProperty("official.cluster");

    /** Names of the three brokers. */
    public static final List<String> BROKERS = Arrays.asList(System.getProperty("official.brokers").split(","));

    public static final long TIMEOUT = 5_000;

    private static final Map<String, String> ADDRESSES = new HashMap<>();
    private static DefaultMQAdminExt admin;

    static {
        String[] addresses = System.getProperty("official.addresses").split(",");
        for (int i = 0; i < addresses.length; i++) {
            ADDRESSES.put(BROKERS.get(i), addresses[i]);
        }
    }

    private Cluster() {
    }

    public static String address(String broker) {
        return ADDRESSES.get(broker);
    }

    /** An admin client for the whole life of the JVM. */
    public static synchronized DefaultMQAdminExt admin() throws Exception {
        if (admin == null) {
            DefaultMQAdminExt made = new DefaultMQAdminExt("official-cluster", TIMEOUT);
            made.setInstanceName("official-cluster");
            made.setNamesrvAddr(NAME_SERVER);
            made.start();
            admin = made;
        }
        return admin;
    }

    public static MQClientAPIImpl api() throws Exception {
        return admin().getDefaultMQAdminExtImpl().getMqClientInstance().getMQClientAPIImpl();
    }
}
