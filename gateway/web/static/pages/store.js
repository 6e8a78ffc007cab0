// The store: positions, disks, files, damage.
import { useAsked } from "../api.js";
import { t } from "../i18n.js";
import { Facts, List, Loading, Table, Title, bytes, duration, html, number, time } from "../widgets.js";

const until = (seconds) => (seconds === null ? t("never at this growth") : seconds === 0 ? html`<span class="warn">${t("now")}</span>` : duration(seconds * 1000));
const mark = (isSo) => (isSo ? html`<span class="good">✓</span>` : html`<span class="warn">✗ ${t("not yet")}</span>`);

function Positions({ at }) {
  const rows = [
    [t("First byte"), at.first, ""],
    [t("Dispatched"), at.dispatched, at.end - at.dispatched],
    [t("Readable"), at.confirmed, at.end - at.confirmed],
    [t("Flushed"), at.flushed, at.end - at.flushed],
    [t("End"), at.end, ""],
  ];
  return html`<${Table} caption=${t("Offsets in the log")} rows=${rows} keyOf=${(row) => row[0]} columns=${[
    { title: t("Position"), value: (row) => row[0] },
    { title: t("Offset"), isNumber: true, value: (row) => number(row[1]) },
    { title: t("Lag behind the end"), isNumber: true, value: (row) => (row[2] === "" ? "" : bytes(row[2])) },
  ]} />`;
}

export function Store({ address }) {
  const asked = useAsked("/store", 10);
  const told = asked.value;
  if (!told) return html`<${Title}>${t("Store")}<//><${Loading} asked=${asked} />`;
  const kept = told.retention;
  return html`<${Title}>${t("Store")}<//>
    ${told.refusal && html`<p class="bad">✗ ${t("Messages are refused")}: ${told.refusal}</p>`}
    <${Facts} facts=${[
      [t("Log"), `${bytes(told.logBytes)}, ${t("Files")}: ${number(told.segments)} × ${bytes(told.segmentBytes)}`],
      [t("Growth"), told.growth === null ? t("unknown") : `${bytes(told.growth)}/s (${t("over the last hour")})`],
      [t("Oldest message"), time(told.oldest)],
      [t("Queues"), `${number(told.queues)}${told.lightQueues ? ` (${t("Lite topics")}: ${number(told.lightQueues)})` : ""}`],
      [t("Last stop"), told.wasClean ? t("clean") : html`<span class="warn">${t("not clean: the log was scanned")}</span>`],
    ]} />
    <h2>${t("Positions")}</h2>
    <${Positions} at=${told.positions} />
    <h2>${t("Disks")}</h2>
    <${Table} caption=${t("Forecast if growth continues and nothing is deleted")} rows=${told.disks} keyOf=${(row) => row.path} columns=${[
      { title: t("Folder"), value: (row) => html`<span class="whole">${row.path}</span>` },
      { title: t("Size"), isNumber: true, value: (row) => bytes(row.bytes) },
      { title: t("Disk free"), isNumber: true, value: (row) => bytes(row.freeBytes) },
      { title: t("Used"), isNumber: true, value: (row) => `${row.usedPercent} %` },
      { title: t("Files are deleted at any hour in"), isNumber: true, value: (row) => until(row.untilCleaning) },
      { title: t("Messages are refused in"), isNumber: true, value: (row) => until(row.untilRefusal) },
    ]} />
    <h2>${t("Retention")}</h2>
    <${Facts} facts=${[
      ["fileReservedTime", `${kept.hours} h`],
      ["deleteWhen", kept.deleteWhen],
      ["diskMaxUsedSpaceRatio", `${kept.cleaningPercent} %`],
      ["diskSpaceCleanForciblyRatio", kept.forcedPercent === null ? "–" : `${kept.forcedPercent} %`],
      ["diskSpaceWarningLevelRatio", `${kept.refusalPercent} %`],
      ["diskFreeSpaceMin", bytes(kept.refusalFreeBytes)],
    ]} />
    <h2>${t("Damage")}</h2>
    ${!told.isChecked && html`<p class="warn">⚠ ${t("Records are not checked when they are read (checkCRCOnRead)")}</p>`}
    ${told.damagedRecords
      ? html`<${Table} caption=${`${t("Damaged records found by reads, not delivered")}: ${number(told.damagedRecords)}`} rows=${told.damaged} keyOf=${(row) => row.offset} columns=${[
          { title: t("Offset"), isNumber: true, value: (row) => number(row.offset) },
          { title: t("Problem"), value: (row) => row.what },
        ]} />`
      : html`<p class="good">✓ ${t("Readers found no damaged record since the start")}</p>`}
    <h2>${t("Files of the log")}</h2>
    <${List} address=${address} path="/store/segments" caption=${t("Files")} keyOf=${(row) => row.name} columns=${[
      { title: t("Name"), sort: "name", value: (row) => html`<code class="whole">${row.name}</code>` },
      { title: t("Used"), isNumber: true, value: (row) => bytes(row.used) },
      { title: t("Flushed"), value: (row) => mark(row.isFlushed) },
      { title: t("Dispatched"), value: (row) => mark(row.isDispatched) },
      { title: t("Last written"), value: (row) => time(row.written ?? 0) },
      { title: t("Expired"), value: (row) => (row.goes === null ? "–" : time(row.goes)) },
    ]} />`;
}
