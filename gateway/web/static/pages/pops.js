// What POP has under way; lite topics.
import { link, part, useAsked } from "../api.js";
import { t } from "../i18n.js";
import { Facts, List, Loading, Table, Title, duration, html, number, time } from "../widgets.js";

const place = (row) => (row.queueId < 0 ? t("any") : row.queueId);

export function Pops({ address }) {
  const asked = useAsked("/pops", 10);
  const told = asked.value;
  if (!told) return html`<${Title}>${t("POP")}<//><${Loading} asked=${asked} />`;
  return html`<${Title}>${t("POP")}<//>
    ${!told.isRevived && html`<p class="warn">⚠ ${t("Timers are off (timerWheelEnable): unacknowledged messages are not redelivered")}</p>`}
    <${Facts} facts=${[
      [t("Waiting pops"), number(told.waitingPops)],
      [t("Waiting notifications"), number(told.waitingNotifications)],
      [t("Queues with unacknowledged messages"), number(told.queuesWithMessagesOut)],
      [t("Queues popped in order"), number(told.queuesInOrder)],
    ]} />
    <${List} address=${address} path="/pops/held" caption=${t("Popped queues")} keyOf=${(row) => `${row.group} ${row.topic} ${row.queueId}`} columns=${[
      { title: t("Group"), sort: "name", value: (row) => html`<a href=${link(["groups", row.group])}>${row.group}</a>` },
      { title: t("Topic"), value: (row) => row.topic },
      { title: t("Queue"), isNumber: true, value: place },
      { title: t("Delivered, not acknowledged"), isNumber: true, sort: "out", value: (row) => number(row.out) },
      { title: t("Waiting pops"), isNumber: true, sort: "waiting", value: (row) => number(row.waiting) },
      { title: t("Popped up to"), isNumber: true, value: (row) => (row.offset === null || row.offset < 0 ? "–" : number(row.offset)) },
      { title: t("Next offset"), isNumber: true, value: (row) => (row.maxOffset === null ? "–" : number(row.maxOffset)) },
    ]} />
    <h2>${t("Revival")}</h2>
    <${Table} caption=${t("Unprocessed checkpoints and acknowledgements")} rows=${told.revive} keyOf=${(row) => row.queueId} columns=${[
      { title: t("Queue"), isNumber: true, value: (row) => row.queueId },
      { title: t("Checkpoints not due yet"), isNumber: true, value: (row) => number(row.checkPoints) },
      { title: t("Lag"), isNumber: true, value: (row) => number(row.behind) },
      { title: t("Lag in time"), isNumber: true, value: (row) => duration(row.age) },
      ]} />`;
}

export function Lites({ address }) {
  const asked = useAsked("/lites?limit=1", 10);
  const told = asked.value;
  return html`<${Title}>${t("Lite topics")}<//>
    ${told && html`<${Facts} facts=${[
      [t("Lite topics"), number(told.liteTopics)],
      [t("Lite topics at most"), number(told.lightQueuesMax)],
      [t("Clients"), number(told.clients)],
      [t("Subscriptions"), number(told.subscriptions)],
      [t("Waiting pops"), number(told.waitingPops)],
    ]} />`}
    <${List} address=${address} path="/lites" caption=${t("Topics with lite topics")} keyOf=${(row) => row.topic} columns=${[
      { title: t("Topic"), value: (row) => html`<a href=${link(["lites", row.topic])}>${row.topic}</a>` },
      { title: t("Lite topics"), isNumber: true, value: (row) => number(row.liteTopics) },
      { title: t("Kept after the last message"), isNumber: true, value: (row) => (row.minutesToLive > 0 ? `${row.minutesToLive} min` : t("unlimited")) },
      { title: t("Groups"), value: (row) => row.groups.join(", ") },
    ]} />`;
}

export function LiteParent({ address }) {
  const name = address.parts[1];
  const asked = useAsked(`/lites/${part(name)}`, 10);
  const told = asked.value;
  if (!told) return html`<${Title}>${name}<//><${Loading} asked=${asked} />`;
  return html`<${Title}>${name}<//>
    <${Facts} facts=${[
      [t("Lite topics"), number(told.liteTopics)],
      [t("Kept after the last message"), told.minutesToLive > 0 ? `${told.minutesToLive} min` : t("unlimited")],
    ]} />
    <h2>${t("Groups")}</h2>
    <${Table} caption=${t("Lag of groups in lite topics that they consumed")} rows=${told.groups} keyOf=${(row) => row.group} columns=${[
      { title: t("Group"), value: (row) => html`<a href=${link(["groups", row.group])}>${row.group}</a>` },
      { title: t("Clients"), isNumber: true, value: (row) => number(row.clients) },
      { title: t("Reads"), value: (row) => (row.isWildcard ? t("every lite topic") : row.isExclusive ? t("each by one client") : t("subscriptions of clients")) },
      { title: t("Lag"), isNumber: true, value: (row) => number(row.behind) },
      { title: t("Lite topics with the largest lag"), value: (row) => row.furthestBehind.map((one) => `${one.liteTopic}: ${number(one.behind)}`).join(", ") },
    ]} />
    <h2>${t("Clients")}</h2>
    <${List} address=${address} path=${`/lites/${part(name)}/clients`} caption=${t("Clients")} keyOf=${(row) => row.clientId} columns=${[
      { title: t("Client"), value: (row) => row.clientId },
      { title: t("Group"), value: (row) => row.group },
      { title: t("Lite topics"), isNumber: true, value: (row) => (row.liteTopics === null ? t("every lite topic") : number(row.liteTopics)) },
      { title: t("Last pop"), value: (row) => time(row.lastPop) },
    ]} />`;
}
