// The states of groups as words, with a colour and a shape each.
import { t } from "../i18n.js";
import { html } from "../widgets.js";

// [class, shape, words] of each state; the words are the same for groups of both protocols.
export const STATES = () => ({
  ok: ["good", "✓", t("up to date")],
  behind: ["", "…", t("behind")],
  stuck: ["bad", "✗", t("stuck")],
  rebalancing: ["warn", "⟳", t("rebalancing")],
  "no-members": ["warn", "⚠", t("no members")],
});

// The state, and Kafka's name of it in brackets.
export function stateOf(row) {
  const [style, shape, words] = STATES()[row.state];
  const isQuiet = row.state === "no-members" && !row.behind;
  return html`<span class=${isQuiet ? "" : style}>${isQuiet ? "" : `${shape} `}${words}</span>${row.kafkaState && html` <span class="faint">(${row.kafkaState})</span>`}`;
}
