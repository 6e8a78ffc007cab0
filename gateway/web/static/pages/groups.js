// Consumer groups: the list, and one of them with members, progress and resets.
import { useState } from "preact/hooks";
import { ask, go, link, part, query, useAsked } from "../api.js";
import { t } from "../i18n.js";
import { told as findingTold } from "./findings.js";
import { Confirm, Dialog, Facts, Form, List, Loading, Table, Title, Trouble, act, can, duration, html, number, say, time } from "../widgets.js";

function GroupForm({ settings, close, done }) {
  const fields = [
    ...(settings ? [] : [{ name: "group", label: t("Name"), isRequired: true }]),
    { name: "consumeEnable", label: t("Consumption allowed"), type: "checkbox", value: settings?.consumeEnable ?? true },
    { name: "consumeBroadcastEnable", label: t("Broadcasting allowed"), type: "checkbox", value: settings?.consumeBroadcastEnable ?? true },
    { name: "consumeMessageOrderly", label: t("Pops in order"), type: "checkbox", value: settings?.consumeMessageOrderly ?? false },
    { name: "retryMaxTimes", label: t("Tries before a message is a dead letter"), type: "number", min: -1, value: settings?.retryMaxTimes ?? 16 },
    { name: "retryQueueNums", label: t("Queues of its retry topic"), type: "number", min: 0, value: settings?.retryQueueNums ?? 1 },
    { name: "consumeTimeoutMinute", label: t("Minutes a message may take"), type: "number", min: 1, value: settings?.consumeTimeoutMinute ?? 15 },
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

export function Groups({ address, session }) {
  const [isCreating, setCreating] = useState(false);
  const columns = [
    { title: t("Group"), sort: "name", value: (row) => html`<a href=${link(["groups", row.group])}>${row.group}</a> ${row.isInconsistent && html`<span class="warn">⚠ ${t("Members have different subscriptions")}</span>`}` },
    { title: t("Members"), isNumber: true, sort: "members", value: (row) => row.members },
    { title: t("Lag"), isNumber: true, sort: "behind", value: (row) => number(row.behind) },
    { title: t("Rate"), isNumber: true, value: (row) => row.rate },
    { title: t("Topics"), isNumber: true, value: (row) => row.topics },
    { title: t("Dead letters"), isNumber: true, value: (row) => (row.deadLetters ? html`<a href=${link(["dead-letters", row.group])}>${number(row.deadLetters)}</a>` : 0) },
    { title: t("Mode"), value: (row) => row.mode },
  ];
  const filters = (params, change) => html`<label class="check"><input type="checkbox" checked=${params.system === "true"} onChange=${(event) => change({ system: event.target.checked ? "true" : "" })} />${t("Include system groups")}</label>`;
  return html`<${Title}>${t("Groups")}<//>
    <${List} address=${address} path="/groups" more=${{ system: address.params.system }} caption=${t("Groups")} columns=${columns} keyOf=${(row) => row.group} filters=${filters}
      actions=${can(session, "operator") && html`<button type="button" class="main" onClick=${() => setCreating(true)}>${t("Create a group")}</button>`} />
    ${isCreating && html`<${GroupForm} close=${() => setCreating(false)} done=${(name) => go(["groups", name])} />`}`;
}

function ResetDialog({ group, topics, close, done }) {
  const [seen, setSeen] = useState(null);
  const fields = [
    { name: "topic", label: t("Topic"), ...(topics.length ? { choices: topics, value: topics[0] } : { isRequired: true }) },
    { name: "to", label: t("Start position"), choices: ["beginning", "end", "time", "offset"], value: "end" },
    { name: "time", label: t("Time, for “time”"), type: "datetime-local", step: 1 },
    { name: "queueId", label: t("Queue; -1 for any"), type: "number", min: -1, value: -1 },
    { name: "offset", label: t("Offset, for “offset”"), type: "number", min: 0, value: 0 },
  ];
  const preview = async (values) => {
    const given = { ...values, time: values.time ? new Date(values.time).getTime() : 0 };
    const told = await ask("GET", `/groups/${part(group)}/reset-preview` + query(given));
    setSeen({ given, queues: told.queues });
  };
  const reset = async () => {
    const told = await act("POST", `/groups/${part(group)}/reset`, seen.given, t("The offsets were reset. You can undo it below."));
    if (told) {
      done();
      close();
    }
  };
  return html`<${Dialog} title=${t("Reset the group's offsets")} close=${close}>
    <${Form} fields=${fields} send=${preview} button=${t("Show what would change")} close=${close} />
    ${seen && html`<${Table} caption=${t("Nothing is changed yet")} rows=${seen.queues} keyOf=${(row) => row.queueId} columns=${[
      { title: t("Queue"), isNumber: true, value: (row) => row.queueId },
      { title: t("Now at"), isNumber: true, value: (row) => (row.offset < 0 ? "–" : number(row.offset)) },
      { title: t("New offset"), isNumber: true, value: (row) => number(row.target) },
      { title: t("Redelivered"), isNumber: true, value: (row) => number(row.again) },
      { title: t("Will be skipped"), isNumber: true, value: (row) => number(row.skipped) },
    ]} /><div class="bar"><button type="button" class="danger" onClick=${reset}>${t("Do it")}</button></div>`}
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
  return html`<${Dialog} title=${client} close=${close}>
    ${asked.value ? html`<pre tabindex="0">${JSON.stringify(asked.value.running, null, 1)}</pre>` : html`<${Loading} asked=${asked} />`}
    <div class="bar"><button type="button" onClick=${close}>${t("Close")}</button></div>
  <//>`;
}

const Diagnosis = ({ group, close }) => {
  const asked = useAsked(`/groups/${part(group)}/diagnosis`);
  const told = asked.value;
  return html`<${Dialog} title=${t("Why is it stuck?")} close=${close}>
    ${!told ? html`<${Loading} asked=${asked} />`
      : !told.findings.length ? html`<p class="good">✓ ${t("No problems found")}</p>`
      : html`<dl class="findings">${told.findings.map((one) => [one, ...findingTold(one)]).map(([one, what, cure]) => html`<dt class=${one.weight === "cause" ? "bad" : "warn"}>${one.weight === "cause" ? "✗" : "⚠"} ${what}</dt><dd>${cure}</dd>`)}</dl>`}
    <div class="bar"><button type="button" onClick=${close}>${t("Close")}</button></div>
  <//>`;
};

const Progress = ({ one }) => html`
  <h2>${one.topic}</h2>
  <${Table} caption=${`${t("Lag")}: ${number(one.behind)}, ${t("Rate")}: ${one.rate}${one.mayRead ? "" : `, ${t("may not read this topic")}`}`} rows=${one.queues} keyOf=${(row) => row.queueId} columns=${[
    { title: t("Queue"), isNumber: true, value: (row) => row.queueId },
    { title: t("Consumed up to"), isNumber: true, value: (row) => number(row.offset) },
    { title: t("Next offset"), isNumber: true, value: (row) => number(row.maxOffset) },
    { title: t("Lag"), isNumber: true, value: (row) => number(row.behind) },
    { title: t("In progress"), isNumber: true, value: (row) => number(row.inFlight) },
    { title: t("Lag in time"), isNumber: true, value: (row) => duration(row.delay) },
    { title: t("Note"), value: (row) => (row.resetWaits ? t("continues there with its next pull") : "") },
  ]} />`;

export function Group({ address, session }) {
  const name = address.parts[1];
  const asked = useAsked(`/groups/${part(name)}`, 10);
  const [shown, show] = useState("");
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
      [t("Mode"), `${told.mode} ${told.kind}`.trim() || "–"],
      [t("Tries before a message is a dead letter"), told.settings?.retryMaxTimes ?? "–"],
      [t("Consumption allowed"), told.settings ? (told.settings.consumeEnable ? t("yes") : t("no")) : "–"],
    ]} />
    <h2>${t("Members")}</h2>
    <${Table} caption=${`${t("Members")}: ${told.clients.length}`} rows=${told.clients} keyOf=${(row) => row.clientId + row.address} columns=${[
      { title: t("Client"), value: (row) => row.clientId },
      { title: t("Address"), value: (row) => row.address },
      { title: t("Language"), value: (row) => `${row.language} ${row.version}` },
      { title: t("Last heartbeat"), value: (row) => time(row.lastHeard) },
      { title: t("Subscribes to"), value: (row) => row.subscriptions.join(", ") },
      { title: t("State"), value: (row) => html`<button type="button" onClick=${() => show(`client ${row.clientId}`)}>${t("Query")}</button>` },
    ]} />
    ${told.progress.map((one) => html`<${Progress} key=${one.topic} one=${one} />`)}
    ${told.topicsLeftOut > 0 && html`<p class="warn">${t("Topics not shown")}: ${number(told.topicsLeftOut)}</p>`}
    <${Resets} group=${name} key=${version} session=${session} done=${asked.reload} />
    ${shown === "diagnosis" && html`<${Diagnosis} group=${name} close=${close} />`}
    ${shown === "reset" && html`<${ResetDialog} group=${name} topics=${told.progress.map((one) => one.topic)} close=${close} done=${changed} />`}
    ${shown === "change" && html`<${GroupForm} settings=${told.settings} close=${close} done=${asked.reload} />`}
    ${shown.startsWith("client ") && html`<${Running} group=${name} client=${shown.slice(7)} close=${close} />`}
    ${shown === "delete" && html`<${Confirm} title=${t("Delete the group")} name=${name} text=${t("Deletes its settings and offsets. Its retries and dead letters are kept.")} button=${t("Delete")} close=${close}
      act=${async () => { await ask("DELETE", `/groups/${part(name)}?offsets=true`); say(t("Deleted")); go(["groups"]); }} />`}`;
}
