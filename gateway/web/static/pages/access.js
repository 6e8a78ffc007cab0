// Users, what they may do, and whether somebody may.
import { useState } from "preact/hooks";
import { ask, groupNames, part, query, topicNames, userNames } from "../api.js";
import { Confirm, Dialog, Form } from "../forms.js";
import { t } from "../i18n.js";
import { List, Title, act, can, html, say } from "../widgets.js";

const ACTIONS = ["All", "Pub", "Sub", "Create", "Update", "Delete", "Get", "List"];

function UserForm({ user, close, done }) {
  const fields = [
    ...(user ? [] : [{ name: "user", label: t("Name"), isRequired: true }]),
    { name: "password", label: user ? t("New password, empty for the old one") : t("Password"), type: "password", isRequired: !user, autocomplete: "new-password" },
    { name: "type", label: t("Super users have all permissions"), choices: ["Normal", "Super"], value: user?.type },
    { name: "status", label: t("Login allowed"), choices: ["enable", "disable"], value: user?.status },
  ];
  const send = async (values) => {
    if (user) await ask("PUT", `/users/${part(user.user)}`, { ...values, password: values.password || null });
    else await ask("POST", "/users", values);
    say(t("Saved"));
    done();
    close();
  };
  return html`<${Dialog} title=${user ? user.user : t("Create a user")} close=${close}><${Form} fields=${fields} send=${send} button=${t("Save")} close=${close} /><//>`;
}

const actionsOf = () => [
  ["Pub", t("Pub: send")],
  ["Sub", t("Sub: receive")],
  ["Create", t("Create")],
  ["Update", t("Update")],
  ["Delete", t("Delete")],
  ["Get", t("Get: show")],
  ["List", t("List")],
  ["All", t("All: everything")],
];
const KINDS = ["Topic", "Group", "Cluster"];
const NAMES = { Topic: topicNames, Group: groupNames, Cluster: async () => [] };

// Grants or denies a user actions on a resource; `user` or `resource` may be given.
export function PolicyForm({ user, resource, policies = [], close, done }) {
  const [given, setGiven] = useState({ user, kind: "Topic", actions: [] });
  const name = given.name ?? "";
  const target = resource ?? (given.kind === "Cluster" || name ? `${given.kind}:${name}` : "");
  const before = policies.filter((one) => one.type === "Custom" && one.resource === target);
  const fields = [
    ...(user ? [] : [{ name: "user", label: t("User"), isRequired: true, complete: userNames }]),
    ...(resource ? [] : [
      { name: "kind", label: t("Kind"), choices: KINDS },
      { name: "name", label: t("Name, or its beginning and *"), isRequired: true, complete: NAMES[given.kind] },
    ]),
    { name: "actions", label: t("Actions"), type: "checks", choices: actionsOf() },
    { name: "decision", label: t("Decision"), choices: ["Allow", "Deny"] },
    { name: "source", label: t("From which address or network; empty for any") },
  ];
  const send = async (values) => {
    const body = { resource: target, actions: values.actions, decision: values.decision, sources: values.source ? [values.source] : null };
    await ask("PUT", `/users/${part(user ?? values.user)}/policies`, body);
    say(t("Saved"));
    done();
    close();
  };
  return html`<${Dialog} title=${`${t("Policy")}: ${user ?? resource}`} close=${close}>
    ${before.map((one) => html`<p class="warn">⚠ ${t("This replaces")}: ${one.decision} ${one.actions.join(", ")} ${one.resource}</p>`)}
    <${Form} fields=${fields} send=${send} changed=${setGiven} button=${t("Save")} close=${close} />
    ${target.startsWith("Topic:") && given.actions.includes("Sub") && html`<p class="faint">${t("To consume, the user also needs Sub on the consumer group (Group:NAME).")}</p>`}
  <//>`;
}

function Decision() {
  const [told, setTold] = useState(null);
  const fields = [
    { name: "user", label: t("User"), isRequired: true },
    { name: "action", label: t("Operation"), choices: ACTIONS.slice(1) },
    { name: "resource", label: t("Topic:NAME, Group:NAME or Cluster:NAME"), isRequired: true, value: "Topic:" },
    { name: "address", label: t("From which address"), value: "127.0.0.1" },
  ];
  return html`<h2>${t("Check a permission")}</h2>
    <${Form} fields=${fields} send=${async (values) => setTold(await ask("GET", `/decision${query(values)}`))} changed=${() => setTold(null)} button=${t("Query")} />
    ${told && html`<p role="status" class=${told.isAllowed ? "good" : "bad"}>${told.isAllowed ? `${t("yes")}${told.entry ? `: ${told.entry}` : ""}` : `${t("no")}: ${told.refusal}`}</p>`}`;
}

export function Access({ address, session }) {
  const [shown, show] = useState(null);
  const [version, setVersion] = useState(0);
  const close = () => show(null);
  const done = () => setVersion((before) => before + 1);
  const mayChange = can(session, "admin");
  const remove = async (user, resource, type) => {
    if (await act("DELETE", `/users/${part(user)}/policies${query({ resource, type })}`, undefined, t("Deleted"))) done();
  };
  const columns = [
    { title: t("User"), value: (row) => row.user },
    { title: t("Type"), value: (row) => row.type },
    { title: t("Login allowed"), value: (row) => row.status },
    { title: t("Policies"), value: (row) => html`<ul>${row.policies.map((one) => html`<li>${one.decision} ${one.actions.join(", ")} ${one.resource} ${one.sources.join(", ")}
      ${mayChange && html`<button type="button" aria-label=${`${t("Delete")} ${one.resource}`} onClick=${() => remove(row.user, one.resource, one.type)}>${t("Delete")}</button>`}</li>`)}</ul>` },
    { title: t("Change"), value: (row) => mayChange && html`<div class="bar">
      <button type="button" onClick=${() => show(["user", row])}>${t("Change")}</button>
      <button type="button" onClick=${() => show(["policy", row])}>${t("Add a policy")}</button>
      <button type="button" class="danger" onClick=${() => show(["delete", row])}>${t("Delete")}</button></div>` },
  ];
  if (session.login === "link") {
    return html`<${Title}>${t("Access")}<//><p>${t("Access control is off: all clients that can reach the broker's ports have all permissions. authenticationEnabled and authorizationEnabled enable it.")}</p>`;
  }
  return html`<${Title}>${t("Access")}<//>
    <${List} address=${address} path="/users" caption=${t("Users")} columns=${columns} keyOf=${(row) => row.user} version=${version}
      actions=${mayChange && html`<button type="button" class="main" onClick=${() => show(["user", null])}>${t("Create a user")}</button>`} />
    <${Decision} />
    ${shown?.[0] === "user" && html`<${UserForm} user=${shown[1]} close=${close} done=${done} />`}
    ${shown?.[0] === "policy" && html`<${PolicyForm} user=${shown[1].user} policies=${shown[1].policies} close=${close} done=${done} />`}
    ${shown?.[0] === "delete" && html`<${Confirm} title=${t("Delete the user")} name=${shown[1].user} text=${t("Deletes the policies as well.")} button=${t("Delete")} close=${close}
      act=${async () => { await ask("DELETE", `/users/${part(shown[1].user)}`); say(t("Deleted")); done(); }} />`}`;
}
