// What is not to be consumed yet.
import { useState } from "preact/hooks";
import { link, useAsked } from "../api.js";
import { t } from "../i18n.js";
import { Columns, Loading, Table, Title, duration, html, number, time } from "../widgets.js";

const SPANS = [[60, "1 h"], [360, "6 h"], [1440, "24 h"], [4320, "72 h"]];

export function Delayed() {
  const [minutes, setMinutes] = useState(60);
  const asked = useAsked(`/delayed?minutes=${minutes}`, 10);
  const told = asked.value;
  if (!told) return html`<${Title}>${t("Delayed")}<//><${Loading} asked=${asked} />`;
  const waiting = told.levels.filter((level) => level.messages);
  return html`<${Title}>${t("Delayed")}<//>
    <h2>${t("Timers by the time they are due")}</h2>
    <div class="bar" role="group" aria-label=${t("Span")}>${SPANS.map(([span, name]) => html`<button type="button" aria-pressed=${span === minutes} class=${span === minutes ? "main" : ""} onClick=${() => setMinutes(span)}>${name}</button>`)}</div>
    <${Columns} bars=${told.bars} title=${`${t("Due within the span")}: ${number(told.bars.reduce((sum, bar) => sum + bar.messages, 0))}; ${t("total waiting")}: ${number(told.timers)}`} />
    <${Table} caption=${t("By topic")} rows=${told.topics} keyOf=${(row) => row.topic} columns=${[
      { title: t("Topic"), value: (row) => html`<a href=${link(["topics", row.topic])}>${row.topic}</a>` },
      { title: t("Messages"), isNumber: true, value: (row) => number(row.messages) },
    ]} />
    <h2>${t("Levels of delay")}</h2>
    <${Table} caption=${t("Levels with waiting messages")} rows=${waiting} keyOf=${(row) => row.level} columns=${[
      { title: t("Level"), isNumber: true, value: (row) => row.level },
      { title: t("Delay"), isNumber: true, value: (row) => duration(row.delay) },
      { title: t("Messages"), isNumber: true, value: (row) => number(row.messages) },
    ]} />`;
}

// A transaction that should have ended, with what helps.
function late(row) {
  if (!row.is_late) return "";
  return html`<span class="warn">⚠ ${row.remedy ? html`${t("abort it:")} <code>${row.remedy}</code>` : t("its markers are missing: see why the partitions do not accept writes")}</span>`;
}

export function Transactions() {
  const asked = useAsked("/transactions", 10);
  const told = asked.value;
  if (!told) return html`<${Title}>${t("Transactions")}<//><${Loading} asked=${asked} />`;
  return html`<${Title}>${t("Transactions")}<//>
    <p class="faint">${t("Half messages without commit or rollback. Producers are checked after")} ${duration(told.timeOut)}, ${told.checkMax} ${t("times at most")}.</p>
    <${Table} caption=${t("By topic")} rows=${told.topics} keyOf=${(row) => row.topic} columns=${[
      { title: t("Topic"), value: (row) => html`<a href=${link(["topics", row.topic])}>${row.topic}</a>` },
      { title: t("Messages"), isNumber: true, value: (row) => number(row.messages) },
    ]} />
    <h2>${t("Oldest transactions")}</h2>
    <${Table} caption=${t("Oldest first")} rows=${told.rows} keyOf=${(row) => row.id} columns=${[
      { title: t("Id"), value: (row) => html`<a href=${link(["messages", row.id])}>${row.id}</a>` },
      { title: t("Topic"), value: (row) => row.topic },
      { title: t("Producer group"), value: (row) => row.group },
      { title: t("Connected"), value: (row) => (row.isReachable ? t("yes") : html`<span class="warn">${t("no")}</span>`) },
      { title: t("Age"), isNumber: true, value: (row) => duration(row.age) },
      { title: t("Checks"), isNumber: true, value: (row) => row.checks },
    ]} />
    <h2>${t("Transactions of Kafka producers")}</h2>
    <${Table} caption=${t("Oldest first")} rows=${told.kafka} keyOf=${(row) => row.id} columns=${[
      { title: t("Transactional id"), value: (row) => row.id },
      { title: t("State"), value: (row) => row.state },
      { title: t("Producer"), isNumber: true, value: (row) => row.producer_id },
      { title: t("Epoch"), isNumber: true, value: (row) => row.epoch },
      { title: t("Started"), value: (row) => time(row.started) },
      { title: t("Timeout"), isNumber: true, value: (row) => duration(row.timeout) },
      { title: t("Partitions"), value: (row) => row.partitions.join("; ") },
      { title: t("Late"), value: late },
    ]} />
    ${told.hanging.length > 0 && html`<h2>${t("Hanging transactions")}</h2>
    <p class="warn">⚠ ${t("Open in a partition, and unknown to their coordinator: they do not end, and readers of committed records stop at their first offset.")}</p>
    <${Table} caption=${t("By topic")} rows=${told.hanging} keyOf=${(row) => `${row.topic} ${row.partition} ${row.producer_id}`} columns=${[
      { title: t("Topic"), value: (row) => row.topic },
      { title: t("Partition"), isNumber: true, value: (row) => row.partition },
      { title: t("Producer"), isNumber: true, value: (row) => row.producer_id },
      { title: t("Open since offset"), isNumber: true, value: (row) => number(row.first_offset) },
      { title: t("Last written"), value: (row) => time(row.stored) },
      { title: t("Command that ends it"), value: (row) => html`<code>${row.remedy}</code>` },
    ]} />`}`;
}
