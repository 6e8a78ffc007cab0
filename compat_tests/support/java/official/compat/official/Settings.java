package compat.official;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Settings of a server that runs outside: what a test sets is set there, and put back after the class. */
public final class Settings {
    private static final String NAME_SERVER = "";
    private static final Map<String, Settings> ALL = new LinkedHashMap<>();

    private final String address;
    private final Properties first;
    private final Map<String, String> changed = new LinkedHashMap<>();

    private Settings(String address) throws Exception {
        this.address = address;
        DefaultMQAdminExt admin = Cluster.admin();
        List<String> servers = Collections.singletonList(Cluster.NAME_SERVER);
        this.first = address.equals(NAME_SERVER)
                ? admin.getNameServerConfig(servers).get(Cluster.NAME_SERVER)
                : admin.getBrokerConfig(address);
    }

    /** The settings of the broker at an address; of the name server if the address is empty. */
    public static synchronized Settings of(String address) throws Exception {
        Settings settings = ALL.get(address);
        if (settings == null) {
            settings = new Settings(address);
            ALL.put(address, settings);
        }
        return settings;
    }

    /** What it had when the JVM began, as text; null if the server does not know it. */
    public String first(String name) {
        return first.getProperty(name);
    }

    /** Set it at the server, if it is not so there already. */
    public void set(String name, String value) throws Exception {
        String now = changed.getOrDefault(name, first(name));
        if (!value.equals(now)) {
            changed.put(name, value);
            tell(name, value);
        }
    }

    /** Put everything back that tests have set. */
    public static synchronized void putBack() throws Exception {
        for (Settings settings : ALL.values()) {
            for (String name : new ArrayList<>(settings.changed.keySet())) {
                if (settings.first(name) != null) {
                    settings.set(name, settings.first(name));
                }
            }
            settings.changed.clear();
        }
    }

    /** Set it at the server, whatever it is now; what the server refuses is only logged. */
    public void tell(String name, String value) throws Exception {
        Properties properties = new Properties();
        properties.setProperty(name, value);
        try {
            if (address.equals(NAME_SERVER)) {
                Cluster.admin().updateNameServerConfig(properties, Collections.singletonList(Cluster.NAME_SERVER));
            } else {
                Cluster.admin().updateBrokerConfig(address, properties);
            }
        } catch (Exception refused) {
            System.err.println("[official] " + name + "=" + value + " refused by " + address + ": " + refused);
        }
    }
}
