// Dialogs and forms. What is typed is kept until the form closes: neither a refresh of the page nor a refusal
// changes it.
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "./i18n.js";
import { Trouble, html } from "./widgets.js";

// A dialog; it closes with Escape too.
export function Dialog({ title, close, isWide = false, children }) {
  const dialog = useRef(null);
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  return html`<dialog ref=${dialog} class=${isWide ? "broad" : ""} aria-label=${title} onClose=${close}>
    <h2>${title}</h2>
    ${children}
  </dialog>`;
}

const COMPLETE_MILLIS = 150;

// A text with names that the server offers for what is typed: `field.complete(text)` gives them.
function Completed({ given, field, value, typed }) {
  const [names, setNames] = useState([]);
  useEffect(() => {
    let isCurrent = true;
    const timer = setTimeout(() => field.complete(value).then((found) => isCurrent && setNames(found), () => {}), COMPLETE_MILLIS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [value, field.complete]);
  return html`<input ...${given} type="text" list=${`${field.name}-names`} value=${value} autocomplete="off" onInput=${typed} />
    <datalist id=${`${field.name}-names`}>${names.map((name) => html`<option key=${name} value=${name}></option>`)}</datalist>`;
}

// Check boxes of which any number may be chosen; the value is a list.
function Checks({ field, value, problem, change }) {
  const toggle = (name) => change(field, value.includes(name) ? value.filter((one) => one !== name) : [...value, name]);
  return html`<fieldset class="checks"><legend>${field.label}</legend>
    ${field.choices.map(option).map(([name, label]) => html`<label class="check"><input type="checkbox" name=${`${field.name}-${name}`} checked=${value.includes(name)} onChange=${() => toggle(name)} />${label}</label>`)}
    ${problem && html`<span class="bad" role="alert">${problem}</span>`}
  </fieldset>`;
}

const option = (choice) => (Array.isArray(choice) ? choice : [choice, choice]);
const first = (field) => (field.type === "checks" ? [] : field.choices ? option(field.choices[0])[0] : field.type === "checkbox" ? false : "");
const isRequired = (field) => field.isRequired ?? field.type === "number";

// The value that a field shows: the typed one, else the one that it started with.
function shownIn(field, typed) {
  const value = typed[field.name] ?? field.value ?? first(field);
  if (!field.choices || field.type === "checks" || field.choices.some((choice) => option(choice)[0] === value)) return value;
  return first(field);
}

// Why what is typed in a field is no value for it; empty if it is one.
function fault(field, input, value) {
  if (field.type === "checks") return value.length ? "" : t("Choose at least one");
  const { validity } = input;
  if (validity.badInput) return t("This is not a valid value");
  if (isRequired(field) && input.value === "") return t("This field is empty");
  if (validity.rangeUnderflow) return `${t("The smallest value is")} ${field.min}`;
  return validity.valid || validity.valueMissing ? "" : t("This is not a valid value");
}

function Field({ field, value, problem, change }) {
  const note = problem && `${field.name}-problem`;
  const given = { name: field.name, required: isRequired(field), "aria-invalid": problem ? "true" : undefined, "aria-describedby": note || undefined };
  const typed = (event) => change(field, event.target.value);
  const input = () => {
    if (field.choices) {
      return html`<select ...${given} value=${value} onChange=${typed}>${field.choices.map(option).map(([name, label]) => html`<option value=${name} selected=${name === value}>${label}</option>`)}</select>`;
    }
    if (field.complete) return html`<${Completed} given=${given} field=${field} value=${value} typed=${typed} />`;
    if (field.type === "textarea") return html`<textarea ...${given} value=${value} onInput=${typed}></textarea>`;
    if (field.type === "checkbox") return html`<input type="checkbox" ...${given} checked=${value} onChange=${(event) => change(field, event.target.checked)} />`;
    return html`<input type=${field.type ?? "text"} ...${given} value=${value} autocomplete=${field.autocomplete ?? "off"} min=${field.min} step=${field.step} onInput=${typed} />`;
  };
  if (field.type === "checks") return html`<${Checks} field=${field} value=${value} problem=${problem} change=${change} />`;
  const label = field.type === "checkbox" ? html`<label class="check">${input()}${field.label}</label>` : html`<label>${field.label}${input()}</label>`;
  return html`<div class="field">${label}${problem && html`<span class="bad" id=${note}>${problem}</span>`}</div>`;
}

// A form of fields {name, label, type, value, choices, complete, isRequired, min, step}; numbers must be given unless
// `isRequired` is false, and of "checks" at least one must be chosen. `complete(text)` offers names for what is typed.
// `send(values)` may fail, which is shown. `changed(values)` is called with each change.
export function Form({ fields, send, button, isDanger = false, close = null, changed = () => {} }) {
  const [starts] = useState(() => new Map());
  const [typed, setTyped] = useState({});
  const [problems, setProblems] = useState({});
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const started = fields.map((field) => {
    if (!starts.has(field.name)) starts.set(field.name, field.value);
    return { ...field, value: starts.get(field.name) };
  });
  const change = (field, value) => {
    const now = { ...typed, [field.name]: value };
    setTyped(now);
    setProblems({ ...problems, [field.name]: "" });
    changed(Object.fromEntries(started.map((one) => [one.name, shownIn(one, now)])));
  };
  const submit = async (event) => {
    event.preventDefault();
    const { elements } = event.target;
    const found = Object.fromEntries(started.map((field) => [field.name, fault(field, elements[field.name], shownIn(field, typed))]));
    const wrong = started.find((field) => found[field.name]);
    setProblems(found);
    setError(null);
    if (wrong) {
      (elements[wrong.name] ?? elements[`${wrong.name}-${option(wrong.choices[0])[0]}`]).focus();
      return;
    }
    const read = (field) => {
      const value = shownIn(field, typed);
      return field.type !== "number" ? value : value === "" ? null : Number(value);
    };
    setBusy(true);
    try {
      await send(Object.fromEntries(started.map((field) => [field.name, read(field)])));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return html`<form novalidate onSubmit=${submit}>
    <div class="fields">${started.map((field) => html`<${Field} key=${field.name} field=${field} value=${shownIn(field, typed)} problem=${problems[field.name]} change=${change} />`)}</div>
    <${Trouble} error=${error} />
    <div class="bar">
      <button type="submit" class=${isDanger ? "danger" : "main"} disabled=${isBusy}>${button}</button>
      ${close && html`<button type="button" onClick=${close}>${t("Cancel")}</button>`}
    </div>
  </form>`;
}

// A question before something is done that cannot be undone: the name has to be typed.
export function Confirm({ title, text, name, button, act, close }) {
  const send = async (values) => {
    if (values.name !== name) throw new Error(t("The name does not match"));
    await act();
    close();
  };
  return html`<${Dialog} title=${title} close=${close}>
    <p>${text}</p>
    <${Form} fields=${[{ name: "name", label: `${t("Type the name to continue")}: ${name}`, isRequired: true }]} send=${send} button=${button} isDanger close=${close} />
  <//>`;
}
