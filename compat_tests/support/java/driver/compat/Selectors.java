package compat;

import com.alibaba.fastjson.JSONObject;
import org.apache.rocketmq.client.consumer.MessageSelector;

/** What a consumer wants of a topic: a text names tags, {"sql": text} is an expression. */
final class Selectors {
    private Selectors() {
    }

    static MessageSelector of(Object wanted) {
        if (wanted instanceof JSONObject) {
            return MessageSelector.bySql(((JSONObject) wanted).getString("sql"));
        }
        return MessageSelector.byTag((String) wanted);
    }
}
