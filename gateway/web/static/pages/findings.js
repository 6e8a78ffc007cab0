// What is found of a group that is stuck, in Chinese, with values in braces; the broker has the English.
import { language } from "../i18n.js";

const ZH = {
  "unknown-group": ["没有 Broker 知道消费组 {group}：没有配置、位点和成员", "检查名称和命名空间，以及 NameServer 地址是否正确"],
  "group-disabled": ["消费组 {group} 不允许消费：consumeEnable 为 false", "允许消费：mqadmin updateSubGroup -g {group} -c CLUSTER -s true"],
  "no-member": ["没有消费者：消费组 {group} 没有在线成员，{behind} 条消息在等待", "启动消费者；如果已启动，检查其 NameServer、命名空间和凭证"],
  "rebalancing": ["消费组 {group} 正在重平衡：状态为 {state}，{behind} 条消息在等待", "一分钟后再看；如果仍然如此，请在成员日志中查找会话过期、poll 间隔过长和反复重启的成员"],
  "no-progress": ["消费组 {group} 有成员且有 {behind} 条消息在等待，但位点已 {idle} 秒没有变化", "查看成员日志和队首的消息：某条消息反复失败、监听器卡住，或消费者没有提交位点"],
  "no-route": ["主题 {topic} 没有路由：没有 NameServer 知道拥有它的 Broker", "创建该主题（mqgateway topic create {topic} -c CLUSTER），或恢复其 Broker"],
  "topic-unreadable": ["任何人都不能读取主题 {topic}：其权限不含读", "允许读取：mqadmin updateTopicPerm -t {topic} -p 6 -c CLUSTER"],
  "reading-forbidden": ["消费组 {group} 被禁止读取主题 {topic}", "在禁止它的地方重新允许（请求 353，readable=true）"],
  "not-subscribed": ["没有成员订阅主题 {topic}，该主题有 {behind} 条消息在等待", "订阅它，或让消费组跳过：mqgateway offset reset {group} {topic} --to last"],
  "subscription-conflict": ["成员对主题 {topic} 的订阅不一致：{wanted}；Broker 以最后上报的为准", "让所有成员用相同的过滤条件订阅相同的主题，或使用两个消费组"],
  "filter-matches-nothing": ["{topic} 接下来的 {looked_at} 条消息都不符合过滤条件 {expression}", "检查标签和过滤条件：mqgateway message tail {topic}"],
  "offset-lost": ["{topic}（{queues}）的消费位点处的消息已不存在：{lost} 条未消费就被删除", "下次拉取时会跳过；请延长保留时间（fileReservedTime）或加快消费"],
  "offset-ahead": ["{topic}（{queues}）的消费位点超前于现有消息，最多超前 {ahead}", "重置位点：mqgateway offset reset {group} {topic} --to last"],
  "queue-without-owner": ["{topic}（{queues}）不属于任何成员，有 {behind} 条消息在等待", "检查所有成员是否知道相同的 Broker 并有各自的客户端 ID；重启落后的成员"],
  "lock-held": ["{client} 不能顺序消费 {topic}（{queues}）：锁在另一个客户端手中", "等待一分钟，直到已退出客户端的锁过期；然后查找同一消费组的其他客户端"],
  "queue-suspended": ["{client} 顺序消费 {topic}（{queues}），已 {idle} 秒没有消费，手中有 {cached} 条消息：某条消息反复失败，或监听器卡住", "查看队首的消息和客户端线程栈：mqadmin consumerStatus -g {group} -i {client} -s"],
  "listener-hangs": ["{client} 已 {idle} 秒没有消费 {topic}（{queues}），手中有 {cached} 条消息：监听器卡住", "查看线程栈：mqadmin consumerStatus -g {group} -i {client} -s"],
  "not-pulling": ["{client} 已 {idle} 秒没有拉取 {topic}（{queues}）的消息", "检查它能否连接 Broker，以及是否被暂停；重启它"],
  "flow-control": ["{client} 对 {topic}（{queues}）的缓存已满：{cached} 条消息，{mib} MiB；不再拉取", "监听器慢于消息到达：加快监听器，或增加成员"],
  "slow-listener": ["{topic} 的消息到达快于消费：每秒到达 {incoming:.1f} 条，消费 {consumed:.1f} 条；监听器处理一条需 {millis:.0f} 毫秒", "加快监听器，增加线程，或增加成员（每个队列至多一个）"],
  "retry-storm": ["每秒 {tried:.1f} 条消息中有 {failed:.1f} 条在监听器中失败；{retries} 条等待重试", "查看客户端日志；查看消息：mqgateway message tail %RETRY%{group}"],
  "retries-waiting": ["{retries} 条先前失败的消息在 %RETRY%{group} 中等待重新消费", "查看客户端日志了解失败原因；查看消息：mqgateway message tail %RETRY%{group}"],
  "pop-invisible": ["{topic} 等待的 {behind} 条消息中有 {held} 条已被 POP 但未确认：到期之前不可见", "确认消息，或用更短的不可见时间"],
  "transaction-pending": ["{topic} 有 {count} 个未结束的事务，最早的已有 {age} 秒：提交之前其消息不可见", "检查生产者是否应答回查：mqgateway transaction list"],
  "dead-letters": ["{count} 条消息已放弃重试，成为死信", "查看：mqgateway dlq list {group}；重新发送：mqgateway dlq replay {group} --dry-run"],
  "idle-members": ["{members} 个成员中有 {idle} 个无事可做：消费组的主题共有 {queues} 个队列", "增加主题的队列数，或停止这些成员"],
};

function fill(sentence, values) {
  return sentence.replace(/\{(\w+)(?::\.(\d)f)?\}/g, (_, name, digits) => (digits === undefined ? values[name] : Number(values[name]).toFixed(digits)));
}

// [what is the matter, what helps]
export function told(finding) {
  const sentences = language() === "zh" ? ZH[finding.check] : null;
  return sentences ? sentences.map((one) => fill(one, finding.values)) : [finding.what, finding.cure];
}
