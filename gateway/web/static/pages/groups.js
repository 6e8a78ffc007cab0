// Consumer groups: the list, and one of them with members, progress and resets.
import { useRef, useState } from "preact/hooks";
import { ask, go, link, part, query, useAsked } from "../api.js";
import { Confirm, Dialog, Form } from "../forms.js";
import { t } from "../i18n.js";
import { BrokerPicker, ClusterList, useBrokers } from "./cluster-lists.js";
import { told as findingTold } from "./findings.js";
import { STATES, stateOf } from "./group-states.js";
import { Chart, Facts, List, Loading, Table, Title, Trouble, act, can, duration, html, number, say, time } from "../widgets.js";

function GroupForm({ settings, close, done }) {
  const fields = [
    ...(settings ? [] : [{ name: "group", label: t("Name"), isRequired: true }]),
    { name: "consumeEnable", label: t("Consumption allowed"), type: "checkbox", value: settings?.consumeEnable ?? true },
    { name: "consumeBroadcastEnable", label: t("Broadcasting allowed"), type: "checkbox", value: settings?.consumeBroadcastEnable ?? true },
    { name: "consumeMessageOrderly", label: t("Pops in order"), type: "checkbox", value: settings?.consumeMessageOrderly ?? false },
    { name: "retryMaxTimes", label: t("Maximum delivery attempts"), type: "number", min: -1, value: settings?.retryMaxTimes ?? 16 },
    { name: "retryQueueNums", label: t("Queues of its retry topic"), type: "number", min: 0, value: settings?.retryQueueNums ?? 1 },
    { name: "consumeTimeoutMinute", label: t("Consume timeout (minutes)"), type: "number", min: 1, value: settings?.consumeTimeoutMinute ?? 15 },
  ];
  const send = async (values) => {
    if (settings) await ask("PUT", `/groups/${part(settings.groupName)}`, values);
    else await ask("POST", "/groups", values);
    say(t("Saved"));
    done(values.group);
    close();
  };
  return html`<${Dialog} title=${settings ? t("Change the group") : t("Create a group")} close=${close}><${Form} fields=${fields} send=${send} button=${t("Save")} close=${close} /><//>`;
}

// "CLUSTERING", or "Kafka classic", "Kafka consumer", "Kafka share".
const kindOf = (row) => (row.kafkaKind ? `Kafka ${row.kafkaKind}` : row.mode || "–");

// Lag and consumption of a group over the last hours; samples are taken every half a minute.
function LagChart({ group }) {
  const [minutes, setMinutes] = useState(60);
  const asked = useAsked(`/groups/${part(group)}/lag?minutes=${minutes}`, 30);
  return html`<h2>${t("Lag over time")}</h2>
    <div class="bar" role="group" aria-label=${t("Span")}>${[[60, "1 h"], [240, "4 h"]].map(([span, name]) => html`<button type="button" aria-pressed=${span === minutes} class=${span === minutes ? "main" : ""} onClick=${() => setMinutes(span)}>${name}</button>`)}</div>
    <div class="pair">
      <${Chart} title=${t("Lag")} data=${asked.value} series=${[["lag", t("Messages")]]} />
      <${Chart} title=${t("Consumed per second")} data=${asked.value} series=${[["consumed", t("Messages")]]} />
    </div>`;
}

function KafkaMembers({ kafka }) {
  return html`<${Table} caption=${`${t("Members with Kafka's protocol")}: ${kafka.members.length}`} rows=${kafka.members} keyOf=${(row) => row.memberId} columns=${[
      { title: t("Client"), value: (row) => row.clientId },
      { title: t("Member"), value: (row) => (row.instanceId ? `${row.instanceId} (${row.memberId})` : row.memberId) },
      { title: t("Address"), value: (row) => row.host },
      { title: t("Subscribes to"), value: (row) => row.subscriptions.join(", ") },
      { title: t("Assigned partitions"), value: (row) => row.assigned.join("; ") || "–" },
    ]} />
    ${kafka.shared.length > 0 && html`<h2>${t("Shared partitions")}</h2>
    <${Table} caption=${t("First unfinished record of each partition")} rows=${kafka.shared} keyOf=${(row) => `${row.topic} ${row.partition}`} columns=${[
      { title: t("Topic"), value: (row) => html`<a href=${link(["topics", row.topic])}>${row.topic}</a>` },
      { title: t("Queue"), isNumber: true, value: (row) => row.partition },
      { title: t("Offset"), isNumber: true, value: (row) => (row.offset < 0 ? "–" : number(row.offset)) },
      { title: t("Lag"), isNumber: true, value: (row) => number(row.lag) },
    ]} />`}`;
}

export function Groups({ address, session }) {
  const [isCreating, setCreating] = useState(false);
  const brokers = useBrokers(address);
  const columns = [
    { title: t("Group"), sort: "name", value: (row) => html`<a href=${link(["groups", row.group])}>${row.group}</a> ${row.isInconsistent && html`<span class="warn">⚠ ${t("Members have different subscriptions")}</span>`}` },
    { title: t("Members"), isNumber: true, sort: "members", value: (row) => row.members },
    { title: t("Lag"), isNumber: true, sort: "behind", value: (row) => number(row.behind) },
    { title: t("Fetched per second"), isNumber: true, value: (row) => row.rate },
    { title: t("Topics"), isNumber: true, value: (row) => row.topics },
    { title: t("Dead letters"), isNumber: true, value: (row) => (row.deadLetters ? html`<a href=${link(["dead-letters", row.group])}>${number(row.deadLetters)}</a>` : 0) },
    { title: t("Type"), value: (row) => kindOf(row) },
    { title: t("State"), value: (row) => (row.behind ? html`<a href=${link(["groups", row.group], { show: "diagnosis" })} title=${t("Why is it stuck?")}>${stateOf(row)}</a>` : stateOf(row)) },
  ];
  const filters = (params, change) => html`<${BrokerPicker} brokers=${brokers} change=${change} />${brokers.own && html`<label>${t("State")}<select value=${params.state ?? ""} onChange=${(event) => change({ state: event.target.value })}><option value="">${t("all states")}</option>${Object.entries(STATES()).map(([name, [, , words]]) => html`<option value=${name}>${words}</option>`)}</select></label>`}
    <label class="check"><input type="checkbox" checked=${params.system === "true"} onChange=${(event) => change({ system: event.target.checked ? "true" : "" })} />${t("Include system groups")}</label>`;
  const common = {
    address,
    caption: t("Groups"),
    filters,
    empty: t("No group fits. Clear the search, or start a consumer: its group appears here."),
    actions: can(session, "operator") && html`<button type="button" class="main" onClick=${() => setCreating(true)}>${t("Create a group")}</button>`,
  };
  const { system, state } = address.params;
  return html`<${Title}>${t("Groups")}<//>
    ${brokers.own
      ? html`<${List} key="own" ...${common} path="/groups" more=${{ system, state }} columns=${columns} keyOf=${(row) => row.group} />`
      : html`<${ClusterList} key="cluster" ...${common} what="groups" more=${{ system }} brokers=${brokers} nameOf=${(row) => row.group} />`}
    ${isCreating && html`<${GroupForm} close=${() => setCreating(false)} done=${(name) => go(["groups", name])} />`}`;
}

const TARGETS = () => [["beginning", t("oldest message")], ["end", t("after the newest message")], ["time", t("first message since a time")], ["offset", t("an offset of one queue")]];

// A reset does what its preview shows: a change of the form removes the preview, and the offsets that it
// shows are those that are set.
function ResetDialog({ group, progress, close, done }) {
  const [known] = useState(progress);
  const [given, setGiven] = useState({ topic: known[0]?.topic, to: "end" });
  const [seen, setSeen] = useState(null);
  const queues = known.find((one) => one.topic === given.topic)?.queues.map((row) => String(row.queueId));
  const queue = queues
    ? { choices: given.to === "offset" ? queues : [["-1", t("all queues")], ...queues] }
    : { type: "number", min: given.to === "offset" ? 0 : -1, value: given.to === "offset" ? 0 : -1 };
  const fields = [
    { name: "topic", label: t("Topic"), ...(known.length ? { choices: known.map((one) => one.topic) } : { isRequired: true }) },
    { name: "to", label: t("Start position"), choices: TARGETS(), value: "end" },
    ...(given.to === "time" ? [{ name: "time", label: t("Stored at this local time or later"), type: "datetime-local", step: 1, isRequired: true }] : []),
    { name: "queueId", label: t("Queue"), ...queue },
    ...(given.to === "offset" ? [{ name: "offset", label: t("Offset"), type: "number", min: 0 }] : []),
  ];
  const changed = (values) => {
    setGiven(values);
    setSeen(null);
  };
  const preview = async ({ time: text, ...values }) => {
    const wanted = { ...values, queueId: Number(values.queueId), ...(text ? { time: new Date(text).getTime() } : {}) };
    const told = await ask("GET", `/groups/${part(group)}/reset-preview` + query(wanted));
    setSeen({ wanted, queues: told.queues });
  };
  const reset = async () => {
    const offsets = Object.fromEntries(seen.queues.map((row) => [row.queueId, row.target]));
    if (await act("POST", `/groups/${part(group)}/reset`, { ...seen.wanted, offsets }, t("The offsets were reset. You can undo it below."))) {
      done();
      close();
    }
  };
  return html`<${Dialog} title=${t("Reset the group's offsets")} close=${close}>
    <${Form} fields=${fields} send=${preview} changed=${changed} button=${t("Show what would change")} close=${close} />
    ${seen && html`<${Table} caption=${`${seen.wanted.topic}: ${t("Nothing is changed yet")}`} rows=${seen.queues} keyOf=${(row) => row.queueId} columns=${[
      { title: t("Queue"), isNumber: true, value: (row) => row.queueId },
      { title: t("Now at"), isNumber: true, value: (row) => (row.offset < 0 ? "–" : number(row.offset)) },
      { title: t("New offset"), isNumber: true, value: (row) => number(row.target) },
      { title: t("Redelivered"), isNumber: true, value: (row) => number(row.again) },
      { title: t("Will be skipped"), isNumber: true, value: (row) => number(row.skipped) },
    ]} /><div class="bar"><button type="button" class="danger" onClick=${reset}>${t("Apply")}</button></div>`}
  <//>`;
}

function Resets({ group, session, done }) {
  const asked = useAsked("/resets", 10);
  const rows = (asked.value?.rows ?? []).filter((row) => row.group === group);
  if (!rows.length) return null;
  const undo = async (row) => {
    if (await act("POST", `/resets/${row.id}/undo`, {}, t("Undone"))) {
      asked.reload();
      done();
    }
  };
  return html`<h2>${t("Changes that can be undone")}</h2>
    <${Table} caption=${t("Newest first")} rows=${rows} keyOf=${(row) => row.id} columns=${[
      { title: t("Time"), value: (row) => time(row.time) },
      { title: t("Topic"), value: (row) => row.topic },
      { title: t("User"), value: (row) => row.user },
      { title: t("Undo"), value: (row) => can(session, "operator") && html`<button type="button" onClick=${() => undo(row)}>${t("Undo")}</button>` },
    ]} />`;
}

function Running({ group, client, close }) {
  const asked = useAsked(`/groups/${part(group)}/clients/${part(client)}?stacks=true`);
  const told = asked.value;
  return html`<${Dialog} title=${client} close=${close} isWide>
    ${!told ? html`<${Loading} asked=${asked} />` : html`
      <h3>${t("Queues")}</h3>
      <${Table} caption=${t("Reported by the client")} rows=${told.queues} keyOf=${(row) => `${row.topic} ${row.broker} ${row.queueId}`} columns=${[
        { title: t("Topic"), value: (row) => row.topic },
        { title: t("Broker"), value: (row) => row.broker },
        { title: t("Queue"), isNumber: true, value: (row) => row.queueId },
        { title: t("Held messages"), isNumber: true, value: (row) => number(row.held) },
        { title: t("Last pull"), value: (row) => time(row.lastPull) },
        { title: t("Last consumption"), value: (row) => time(row.lastConsume) },
      ]} />
      <h3>${t("Consumption")}</h3>
      <${Table} caption=${t("Messages per second over the last minute")} rows=${told.rates} keyOf=${(row) => row.topic} columns=${[
        { title: t("Topic"), value: (row) => row.topic },
        { title: t("Consumed"), isNumber: true, value: (row) => row.consumed.toFixed(1) },
        { title: t("Failed"), isNumber: true, value: (row) => row.failed.toFixed(1) },
        { title: t("Time for each"), isNumber: true, value: (row) => duration(row.millis) },
      ]} />
      ${told.stacks && html`<h3>${t("Thread stacks")}</h3><pre tabindex="0" aria-label=${t("Thread stacks")}>${told.stacks}</pre>`}
      <h3>${t("Properties")}</h3>
      <${Facts} facts=${Object.entries(told.properties)} />`}
    <div class="bar"><button type="button" onClick=${close}>${t("Close")}</button></div>
  <//>`;
}

// What helps against a finding, where it can be done here: a link, or a dialog that `show` opens.
function Cure({ finding, group, session, show }) {
  const { topic, client } = finding.values;
  const to = (words, parts, params) => html`<a class="button" href=${link(parts, params)}>${words}</a>`;
  const open = (words, dialog) => html`<button type="button" onClick=${() => show(dialog)}>${words}</button>`;
  const mayChange = can(session, "operator");
  const mayRead = can(session, "reader");
  const cures = {
    "group-disabled": () => mayChange && open(t("Change the group"), "change"),
    "offset-ahead": () => mayChange && open(t("Reset offsets"), "reset"),
    "not-subscribed": () => mayChange && open(t("Reset offsets"), "reset"),
    "topic-unreadable": () => to(t("Open the topic"), ["topics", topic]),
    "dead-letters": () => to(t("Dead letters"), ["dead-letters", group]),
    "retry-storm": () => mayRead && to(t("Find messages"), ["messages"], { topic: `%RETRY%${group}` }),
    "retries-waiting": () => mayRead && to(t("Find messages"), ["messages"], { topic: `%RETRY%${group}` }),
    "filter-matches-nothing": () => mayRead && to(t("Find messages"), ["messages"], { topic }),
    "transaction-pending": () => to(t("Transactions"), ["transactions"]),
    "queue-suspended": () => open(t("Thread stacks"), `client ${client}`),
    "listener-hangs": () => open(t("Thread stacks"), `client ${client}`),
    "not-pulling": () => open(t("Thread stacks"), `client ${client}`),
    "flow-control": () => open(t("Thread stacks"), `client ${client}`),
  };
  const cure = cures[finding.check]?.();
  return cure ? html`<div class="bar">${cure}</div>` : null;
}

const Diagnosis = ({ group, session, show, close }) => {
  const asked = useAsked(`/groups/${part(group)}/diagnosis`);
  const told = asked.value;
  return html`<${Dialog} title=${t("Why is it stuck?")} close=${close}>
    ${!told ? html`<${Loading} asked=${asked} />`
      : !told.findings.length ? html`<p class="good">✓ ${t("No problems found")}</p>`
      : html`<dl class="findings">${told.findings.map((one) => [one, ...findingTold(one)]).map(([one, what, cure]) => html`<dt class=${one.weight === "cause" ? "bad" : "warn"}>${one.weight === "cause" ? "✗" : "⚠"} ${what}</dt><dd>${cure}<${Cure} finding=${one} group=${group} session=${session} show=${show} /></dd>`)}</dl>`}
    <div class="bar"><button type="button" onClick=${close}>${t("Close")}</button></div>
  <//>`;
};

// Messages consumed a second since the figures before; null before the second ones.
function useConsumed(one) {
  const seen = useRef({ one: null, at: 0, total: 0, rate: null });
  if (seen.current.one !== one) {
    const before = seen.current;
    const at = performance.now();
    const total = one.queues.reduce((sum, row) => sum + Math.max(0, row.offset), 0);
    const rate = before.one && at > before.at ? (1000 * Math.max(0, total - before.total)) / (at - before.at) : null;
    seen.current = { one, at, total, rate };
  }
  return seen.current.rate;
}

function Progress({ one }) {
  const consumed = useConsumed(one);
  const facts = [[t("Lag"), number(one.behind)], [t("Fetched per second"), one.rate], [t("Consumed per second"), consumed === null ? "…" : consumed.toFixed(1)]];
  return html`<h2>${one.topic}</h2>
  <${Table} caption=${`${facts.map((fact) => fact.join(": ")).join(", ")}${one.mayRead ? "" : `, ${t("not allowed to read this topic")}`}`} rows=${one.queues} keyOf=${(row) => row.queueId} columns=${[
    { title: t("Queue"), isNumber: true, value: (row) => row.queueId },
    { title: t("Consumed up to"), isNumber: true, value: (row) => (row.offset < 0 ? "–" : number(row.offset)) },
    { title: t("Next offset"), isNumber: true, value: (row) => number(row.maxOffset) },
    { title: t("Lag"), isNumber: true, value: (row) => number(row.behind) },
    { title: t("In flight"), isNumber: true, value: (row) => number(row.inFlight) },
    { title: t("Lag in time"), isNumber: true, value: (row) => duration(row.delay) },
    { title: t("Note"), value: (row) => (row.resetWaits ? t("continues there with its next pull") : "") },
  ]} />`;
}

export function Group({ address, session }) {
  const name = address.parts[1];
  const asked = useAsked(`/groups/${part(name)}`, 10);
  const [shown, show] = useState(address.params.show ?? "");
  const [version, setVersion] = useState(0);
  const close = () => show("");
  const told = asked.value;
  if (!told) return html`<${Title}>${name}<//><${Loading} asked=${asked} />`;
  const changed = () => {
    asked.reload();
    setVersion(version + 1);
  };
  return html`<${Title}>${name}<//>
    <div class="bar">
      <button type="button" onClick=${() => show("diagnosis")}>${t("Why is it stuck?")}</button>
      ${can(session, "operator") && html`<button type="button" onClick=${() => show("reset")}>${t("Reset offsets")}</button>
        ${told.settings && html`<button type="button" onClick=${() => show("change")}>${t("Change")}</button>`}`}
      ${told.deadLetters > 0 && html`<a class="button" href=${link(["dead-letters", name])}>${t("Dead letters")}: ${number(told.deadLetters)}</a>`}
      ${can(session, "admin") && told.settings && !told.isSystem && html`<button type="button" class="danger" onClick=${() => show("delete")}>${t("Delete")}</button>`}
    </div>
    ${told.isInconsistent && html`<p class="warn">⚠ ${t("Members have different subscriptions")}: ${t("messages may be discarded by members that do not subscribe to them")}</p>`}
    <${Facts} facts=${[
      [t("Members"), number(told.members)],
      [t("Lag"), number(told.behind)],
      [t("State"), stateOf(told)],
      [t("Type"), told.kafka ? `${kindOf(told)}${told.kafka.assignor ? `, ${told.kafka.assignor}` : ""}` : `${told.mode} ${told.kind}`.trim() || "–"],
      [t("Maximum delivery attempts"), told.settings?.retryMaxTimes ?? "–"],
      [t("Consumption allowed"), told.settings ? (told.settings.consumeEnable ? t("yes") : t("no")) : "–"],
    ]} />
    <h2>${t("Members")}</h2>
    ${told.kafka && html`<${KafkaMembers} kafka=${told.kafka} />`}
    ${(told.clients.length > 0 || !told.kafka) && html`<${Table} caption=${`${t("Members")}: ${told.clients.length}`} rows=${told.clients} keyOf=${(row) => row.clientId + row.address} columns=${[
      { title: t("Client"), value: (row) => row.clientId },
      { title: t("Address"), value: (row) => row.address },
      { title: t("Language"), value: (row) => `${row.language} ${row.version}` },
      { title: t("Last heartbeat"), value: (row) => time(row.lastHeard) },
      { title: t("Subscribes to"), value: (row) => row.subscriptions.join(", ") },
      { title: t("State"), value: (row) => html`<button type="button" onClick=${() => show(`client ${row.clientId}`)}>${t("Show")}</button>` },
    ]} />`}
    ${told.progress.map((one) => html`<${Progress} key=${one.topic} one=${one} />`)}
    <${LagChart} group=${name} />
    ${told.topicsLeftOut > 0 && html`<p class="warn">${t("Topics not shown")}: ${number(told.topicsLeftOut)}</p>`}
    <${Resets} group=${name} key=${version} session=${session} done=${asked.reload} />
    ${shown === "diagnosis" && html`<${Diagnosis} group=${name} session=${session} show=${show} close=${close} />`}
    ${shown === "reset" && html`<${ResetDialog} group=${name} progress=${told.progress} close=${close} done=${changed} />`}
    ${shown === "change" && html`<${GroupForm} settings=${told.settings} close=${close} done=${asked.reload} />`}
    ${shown.startsWith("client ") && html`<${Running} group=${name} client=${shown.slice(7)} close=${close} />`}
    ${shown === "delete" && html`<${Confirm} title=${t("Delete the group")} name=${name} text=${t("Deletes its settings and offsets. Its retries and dead letters are kept.")} button=${t("Delete")} close=${close}
      act=${async () => { await ask("DELETE", `/groups/${part(name)}?offsets=true`); say(t("Deleted")); go(["groups"]); }} />`}`;
}
