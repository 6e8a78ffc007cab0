// The broker at a glance.
import { useState } from "preact/hooks";
import { link, useAsked, useStream } from "../api.js";
import { t } from "../i18n.js";
import { Chart, Facts, Loading, Table, Title, bytes, html, number, time } from "../widgets.js";

const SPANS = [[60, "1 h"], [360, "6 h"], [1440, "24 h"]];

export function Overview() {
  const asked = useAsked("/overview", 10);
  const [minutes, setMinutes] = useState(60);
  const series = useAsked(`/series?minutes=${minutes}`, 30);
  const [figures, setFigures] = useState(null);
  useStream("/events", { figures: setFigures });
  const told = asked.value;
  if (!told) return html`<${Title}>${t("Overview")}<//><${Loading} asked=${asked} />`;
  const now = figures ?? told.figures;
  const cards = [
    [t("Messages in per second"), now.in.toFixed(1)],
    [t("Messages out per second"), now.out.toFixed(1)],
    [t("Producers"), number(now.producers)],
    [t("Consumers"), number(now.consumers)],
    [t("Waiting requests"), number(now.held)],
    [t("Topics"), number(told.topics)],
    [t("Groups"), number(told.groups)],
    [t("Dead letters"), number(told.deadLetters)],
    [t("Disk free"), `${bytes(told.diskFreeBytes)} / ${bytes(told.diskBytes)}`],
    [t("Log"), bytes(told.logBytes)],
  ];
  return html`<${Title}>${t("Overview")}<//>
    <${Facts} facts=${[
      [t("Broker"), `${told.name} (${told.role}, ${told.address})`],
      [t("Cluster"), told.cluster],
      [t("Console started"), time(told.started)],
      ...Object.entries(told.health).map(([part, check]) => [t(part), html`<span class=${check.ok ? "good" : "bad"}>${check.ok ? "✓" : "✗"} ${t(check.state)}</span>`]),
    ]} />
    ${told.warnings.map((warning) => html`<p class="warn">⚠ ${
      warning.kind === "stuck" ? html`${t("Group is stuck")}: <a href=${link(["groups", warning.group], { show: "diagnosis" })}>${warning.group}</a>`
      : warning.kind === "inconsistent" ? html`${t("Members have different subscriptions")}: <a href=${link(["groups", warning.group])}>${warning.group}</a>`
      : warning.kind === "flowControl" ? `${t("Requests refused")}: ${warning.cause} ${number(warning.count)}`
      : warning.cause}</p>`)}
    <h2>${t("Now")}</h2>
    <dl class="cards">${cards.map(([name, value]) => html`<div class="card"><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    <h2>${t("Past")}</h2>
    <div class="bar" role="group" aria-label=${t("Span")}>${SPANS.map(([span, name]) => html`<button type="button" aria-pressed=${span === minutes} class=${span === minutes ? "main" : ""} onClick=${() => setMinutes(span)}>${name}</button>`)}</div>
    <div class="pair">
      <${Chart} title=${t("Messages per second")} data=${series.value} series=${[["in", t("in")], ["out", t("out")]]} />
      <${Chart} title=${t("Log, bytes per second")} data=${series.value} series=${[["logBytes", t("bytes")]]} form=${bytes} />
    </div>
    <div class="pair">
      <section><h2>${t("Busiest topics")}</h2><${Table} caption=${t("Messages per second over the last minute")} keyOf=${(row) => row.topic} rows=${told.busiestTopics} columns=${[
        { title: t("Topic"), value: (row) => html`<a href=${link(["topics", row.topic])}>${row.topic}</a>` },
        { title: t("In per second"), isNumber: true, value: (row) => row.rate },
      ]} /></section>
      <section><h2>${t("Largest lag")}</h2><${Table} caption=${t("Messages not consumed by groups")} keyOf=${(row) => row.group} rows=${told.furthestBehind} columns=${[
        { title: t("Group"), value: (row) => html`<a href=${link(["groups", row.group])}>${row.group}</a>` },
        { title: t("Lag"), isNumber: true, value: (row) => number(row.behind) },
      ]} /></section>
    </div>`;
}
