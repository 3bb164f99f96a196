// Keeps the page live by fetching fragments that the server renders. Without it everything still works, after a reload.

document.documentElement.classList.add("scripted");
const find = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const ask = () => find("#ask"), form = () => find("#answer"), list = () => find("#list"), agent = () => find("#agent");
const words = document.body.dataset;
const isTyping = (element) => element?.matches?.("textarea, select, input:not([type=radio]):not([type=checkbox])");

// What happens is said politely, in a place of its own that moves nothing else.
let unsaying = null;

function tell(text, stays = false) {
  const told = find("#told");
  clearTimeout(unsaying);
  told.textContent = text;
  if (!stays) unsaying = setTimeout(() => { told.textContent = ""; }, 8000);
}

async function fragment(path) {
  const response = await fetch(path);
  if (response.status === 401) signedOut();
  if (!response.ok) throw new Error(`${response.status}`);
  return (await parsed(response)).body.firstElementChild;
}

const parsed = async (response) => new DOMParser().parseFromString(await response.text(), "text/html");

// Whoever has typed something stays where they are: it would be gone with the page.
let isOut = false;

function signedOut() {
  isOut = true;
  stopListening();
  if (isKept()) location.reload(); else tell(words.out, true);
}

// The list: never moved under a pointer or a finger, nor is the row that has the focus taken away.
let waiting = null, isPressed = false;
const canHover = matchMedia("(hover: hover)");
const rows = (list) => all(".asks li[data-id]", list);
const ids = (list) => all("li[data-id]", list).map((row) => row.dataset.id);
const focusedRow = () => document.activeElement.closest("#list li")?.dataset.id;

function isHeld(fresh) {
  const here = list(), focused = focusedRow();
  if (canHover.matches ? here.matches(":hover") : isPressed) return true;
  return here.matches(":has(.filters :focus)") || (focused && !ids(fresh).includes(focused));
}

async function readList(query = new URLSearchParams(list()?.dataset.query)) {
  const current = ask();
  if (current?.dataset.state === "open") query.set("current", current.dataset.id);
  if (agent()) query.set("current", agent().dataset.id);
  return fragment(`/fragments/list?${query}`);
}

async function refreshList() {
  const fresh = await readList();
  announce(fresh);
  count(fresh.dataset.count);
  if (list()) { if (isHeld(fresh)) hold(fresh); else place(fresh); }
  if ("settled" in fresh.dataset) await refreshAsk();
}

function place(fresh) {
  const here = list(), row = focusedRow(), field = here.contains(document.activeElement) && document.activeElement.name;
  const top = here.scrollTop;
  waiting = null;
  here.replaceWith(fresh);
  fresh.scrollTop = top;
  if (row) find(`li[data-id="${row}"] a`, fresh)?.focus({ preventScroll: true });
  if (field) find(`[name="${field}"]`, fresh)?.focus({ preventScroll: true });
  watchList();
}

function hold(fresh) {
  waiting = fresh;
  const open = ids(fresh);
  rows(list()).forEach((row) => row.classList.toggle("gone", !open.includes(row.dataset.id)));
}

function release() {
  if (waiting && !isHeld(waiting)) place(waiting);
}

function watchList() {
  const here = list();
  if (!here) return;
  here.addEventListener("pointerleave", release);
  here.addEventListener("focusout", () => setTimeout(release));
  all("select", here).forEach((select) => select.addEventListener("change", filter));
}

async function filter() {
  const fresh = await readList(new URLSearchParams(new FormData(find(".filters"))));
  ids(fresh).forEach((id) => known.add(id));
  place(fresh);
  history.replaceState(null, "", location.pathname + fresh.dataset.query);
}

function count(open) {
  all(".count").forEach((place) => { place.textContent = open; });
  document.title = document.title.replace(/^\(\d+\+?\) /, "").replace(/^/, open === "0" ? "" : `(${open}) `);
}

// New asks are said, and noted by the browser where the person wants that and is not looking.
let known = list() && new Set(ids(list()));

function announce(fresh) {
  known ??= new Set(ids(fresh));
  const news = rows(fresh).filter((row) => !known.has(row.dataset.id));
  news.forEach((row) => known.add(row.dataset.id));
  if (!news.length) return;
  tell(news.slice(0, 3).map((row) => row.dataset.new).join(" — "));
  if (wantsNotes() && !(document.visibilityState === "visible" && document.hasFocus())) news.slice(0, 3).forEach(note);
}

function note(row) {
  try {
    const shown = new Notification("askdesk", { body: row.dataset.new.slice(0, 200), tag: row.dataset.id, icon: "/static/icon.svg" });
    shown.addEventListener("click", () => { window.focus(); location.href = `/asks/${row.dataset.id}`; });
  } catch { localStorage.setItem("notify", "no"); }  // some phones have it, and do not let pages use it
}

const wantsNotes = () => "Notification" in window && Notification.permission === "granted" && localStorage.getItem("notify") === "yes";

function offerNotes() {
  const button = find("[data-notify]");
  if (!button || !("Notification" in window)) return;
  const show = () => button.setAttribute("aria-pressed", String(wantsNotes()));
  button.hidden = false;
  show();
  button.addEventListener("click", async () => {
    const wanted = !wantsNotes();
    if (wanted) await Notification.requestPermission();
    localStorage.setItem("notify", wanted ? "yes" : "no");
    show();
  });
}

async function keepAll() {
  if (form()?.dataset.draft && typed() !== blankText) keptText = null;  // the same person, elsewhere, may have removed it
  const status = await keepDraft();
  if (status === 0 || status >= 500) throw new Error("what was typed is not on the desk yet");
}

// The ask on the page: when somebody else settles it, the page says so and keeps what was typed.
async function refreshAsk() {
  const here = ask();
  if (here?.dataset.state !== "open") return;
  if (!isSending) await keepAll();  // what is being sent is kept by whoever gets it
  const fresh = await fragment(`/fragments/asks/${here.dataset.id}`);
  if (here.isConnected) put(fresh);
}

function put(fresh) {
  const at = document.activeElement, ended = find(".ended", fresh);
  if (isTyping(at)) deafUntil = performance.now() + 1000;
  ask().replaceWith(fresh);
  watchForm();
  guard();
  stepper();
  if (!at.isConnected) find("#main").focus({ preventScroll: true });
  if (fresh.getBoundingClientRect().top < 0) fresh.scrollIntoView();
  if (ended) tell(ended.textContent);
}

// Drafts are kept on the desk, a moment after the last key, one after the other.
let keeping = null, keptText = "", blankText = "", writing = Promise.resolve();
const OURS = ["form", "submission", "stamp", "digest"];
const fieldsOf = (filled) => new URLSearchParams(new FormData(filled));

function typed() {
  const fields = fieldsOf(form());
  OURS.forEach((name) => fields.delete(name));
  return fields.toString();
}

const isKept = () => !form()?.dataset.draft || typed() === keptText;
const keepDraft = () => (writing = writing.then(() => write()));

// The status of the desk's answer; 0 where there was none.
async function write(isLeaving = false) {
  clearTimeout(keeping);
  if (isKept()) return 204;
  const now = typed(), body = fieldsOf(form());
  const keepalive = isLeaving && `${body}`.length < 60000;  // browsers refuse more
  const status = await fetch(form().dataset.draft, { method: "POST", body, keepalive }).then((answer) => answer.status, () => 0);
  if (status === 204) keptText = now;
  if (status === 0 || status >= 500) keeping = setTimeout(keepDraft, 3000);
  if (status === 401) signedOut();
  const place = find("[data-kept]");
  if (place) place.textContent = status === 204 ? place.dataset.yes : place.dataset.no;
  return status;
}

function leave() {
  if (!isOut) write(true);
}

function watchForm() {
  const filled = form();
  if (!filled?.dataset.draft) return;
  keptText = typed();
  blankText = "restored" in filled.dataset ? null : keptText;
  filled.addEventListener("input", (event) => {
    tickOther(event.target);
    clearTimeout(keeping);
    keeping = setTimeout(keepDraft, 300);
  });
}

function tickOther(field) {
  const named = /^(q\d+)\.own$/.exec(field.name);
  const other = named && document.getElementById(`${named[1]}-own`);
  if (other && field.value.trim()) other.checked = true;
}

// Whatever is sent, what was typed is on the desk first: so it is lost neither on the way nor where there is no way.
let isSending = false, goes = false;

document.addEventListener("submit", async (event) => {
  const { target, submitter } = event;
  if (target.method !== "post" || goes) return;
  event.preventDefault();
  if (isSending) return;
  isSending = true;
  const status = await keepDraft();
  if (status === 0 || status >= 500) tell(words.unsent, true);
  else if (status !== 401 && !submitter?.disabled && !(await settledHere(target, submitter))) leaveWith(target, submitter);
  isSending = false;
});

// The desk's answer is a whole page: of it, the ask takes its place here, and everything around it stays.
async function settledHere(filled, submitter) {
  const isTold = filled.matches(".tell");
  if (!isTold && filled !== form()) return !filled.isConnected;  // another form; or somebody else was first meanwhile
  const body = fieldsOf(filled);
  body.append(submitter.name, submitter.value);
  const path = submitter.getAttribute("formaction") ?? filled.getAttribute("action");
  const answer = await fetch(path, { method: "POST", body }).then(parsed).catch(() => null);
  if (!answer) { tell(words.unsent, true); return true; }
  const fresh = find(isTold ? "#telling" : "#ask", answer);
  if (fresh && isTold) putTelling(fresh);
  else if (fresh) { put(fresh); hint(); }
  return fresh !== null;
}

// What is told to an agent: typed words stay in this tab until they are on the desk, and the list says how far they are.
const telling = () => find("#telling"), tellingKey = () => `tell ${telling().dataset.id}`;

function putTelling(fresh) {
  telling().replaceWith(fresh);
  if (!find(".problem", fresh)) { sessionStorage.removeItem(tellingKey()); tell(fresh.dataset.kept); }
  watchTelling();
  find("textarea", fresh).focus();
}

function watchTelling() {
  const text = telling() && find("textarea", telling());
  if (!text) return;
  const before = sessionStorage.getItem(tellingKey());
  if (before && !text.value) { text.value = before; text.closest("details")?.setAttribute("open", ""); }
  text.addEventListener("input", () => sessionStorage.setItem(tellingKey(), text.value));
}

async function refreshHeard() {
  const here = find("#heard"), count = (heard) => all(".waits", heard).length;
  if (!here) return;
  const fresh = await fragment(here.dataset.path);
  if (!here.isConnected) return;
  here.replaceWith(fresh);
  if (count(fresh) < count(here)) tell(find("li:not(.waits) .state", fresh)?.textContent);
}

function leaveWith(filled, submitter) {
  setTimeout(() => {  // once this event is over: until then browsers ignore a further one
    goes = true;
    filled.requestSubmit(submitter);
    goes = false;
  });
}

// Nothing is sent in the first half second, so that what was meant for the page before falls on nothing. What lets a
// call run also has to be seen for as long, in a window that has the focus.
function wait(button, isWaiting) {
  button.disabled = isWaiting;
  button.classList.toggle("waiting", isWaiting);
}

function guard() {
  for (const button of all("#answer [name=action]:enabled:not([hidden])")) {
    wait(button, true);
    if (button.closest("[data-guard]") && ["allow", "run", "remember"].includes(button.value)) guardOne(button);
    else setTimeout(() => wait(button, false), 500);
  }
}

function guardOne(button) {
  let isVisible = false, timer = null;
  const look = () => {
    clearTimeout(timer);
    if (isVisible && document.hasFocus() && document.visibilityState === "visible") timer = setTimeout(() => wait(button, false), 500);
    else wait(button, true);
  };
  new IntersectionObserver((entries) => { isVisible = entries.at(-1).isIntersecting; look(); }, { threshold: 0.9 }).observe(button);
  window.addEventListener("focus", look);
  window.addEventListener("blur", look);
  document.addEventListener("visibilitychange", look);
}

// On a phone the questions come one after the other.
function stepper() {
  const filled = form(), steps = filled && find(".steps", filled);
  const questions = filled ? all("fieldset.question", filled) : [];
  if (!steps || questions.length < 2) return;
  const narrow = matchMedia("(max-width: 40rem)");
  const [back, on] = all("[data-step]", steps), place = find("[data-step-place]", steps);
  const send = find("button[value=send]", filled), review = find("button[value=review]", filled);
  const first = (isIt) => questions.findIndex(isIt);
  let at = Math.max(first((question) => find("[aria-invalid]", question)), first((question) => `#${question.id}` === location.hash), 0);
  const show = () => {
    const isNarrow = narrow.matches, isLast = at === questions.length - 1;
    questions.forEach((question, number) => { question.hidden = isNarrow && number !== at; });
    steps.hidden = !isNarrow;
    back.disabled = at === 0;
    on.hidden = isLast;
    send.hidden = isNarrow;
    review.hidden = isNarrow && !isLast;
    review.classList.toggle("primary", isNarrow);
    place.textContent = `${at + 1} / ${questions.length}`;
  };
  const step = (by) => {
    at = Math.min(Math.max(at + by, 0), questions.length - 1);
    show();
    find("input, textarea", questions[at]).focus();
    window.scrollTo(0, 0);
  };
  back.addEventListener("click", () => step(-1));
  on.addEventListener("click", () => step(1));
  narrow.addEventListener("change", show);
  show();
}

// Keys: none of them sends anything. They are deaf to whoever types on while a field goes away below them.
let before = "", deafUntil = 0;
const hasKeys = () => localStorage.getItem("keys") !== "no";

document.addEventListener("keydown", (event) => {
  if (performance.now() < deafUntil) { deafUntil = performance.now() + 1000; return; }
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape" && isTyping(document.activeElement)) { document.activeElement.blur(); return; }
  if (event.key === "Enter" && event.target.matches("#answer input")) { event.preventDefault(); return; }
  if (!hasKeys() || isTyping(event.target) || find("dialog[open]")) return;
  const key = event.key, pair = `${before} ${key}`;
  before = key;
  if (pair === "g i") location.href = "/";
  else if (pair === "g s") location.href = "/settled";
  else if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
  else if (key === "?") showKeys();
  else if (key === "/") search();
  else if (key === "n") addNote();
  else if (/^[1-9]$/.test(key)) choose(Number(key) - 1);
  else return;
  event.preventDefault();
});

function move(by) {
  const links = all(".asks li a, .agents li a");
  const at = links.indexOf(document.activeElement);
  const from = at >= 0 ? at : links.findIndex((link) => link.hasAttribute("aria-current"));
  links[Math.min(Math.max(from + by, 0), links.length - 1)]?.focus();
}

function questionHere() {
  const questions = all("fieldset.question:not([hidden])");
  return document.activeElement.closest("fieldset.question") ?? questions.find((question) => !find("input:checked", question)) ?? questions[0];
}

function choose(number) {
  const question = questionHere(), input = question && all(".card:not(.own) .choice input", question)[number];
  if (!input) return;
  input.focus();
  input.checked = input.type === "radio" || !input.checked;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

function addNote() {
  const question = questionHere(), notes = question && find("details.notes", question);
  if (!notes) return;
  notes.open = true;
  find("textarea", notes).focus();
}

function search() {
  const field = find("[data-search]");
  if (field) field.focus(); else location.href = "/settled";
}

async function showKeys() {
  if (!find("[data-keys]") || find("dialog")) return;
  const dialog = document.createElement("dialog"), heading = document.createElement("h2"), close = document.createElement("button");
  const keys = await fragment("/fragments/keys").catch(() => null), link = find("[data-keys]");
  if (!keys) return;
  heading.textContent = link.textContent;
  heading.id = "keys-title";
  close.textContent = keys.dataset.close;
  close.addEventListener("click", () => dialog.close());
  dialog.setAttribute("aria-labelledby", heading.id);
  dialog.append(heading, keys, close);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  offerKeys();
  dialog.showModal();
}

// Whoever speaks to their computer, or hits keys by accident, can switch them off.
function offerKeys() {
  for (const place of all("[data-keys-switch]")) {
    const box = find("input", place);
    place.hidden = false;
    box.checked = hasKeys();
    box.addEventListener("change", () => localStorage.setItem("keys", box.checked ? "yes" : "no"));
  }
}

// Hints: something may have changed, and is read again; several at once are one.
let source = null, again = null, soon = null, isReading = false, isWanted = false, isLost = false;

function hint(pause = 0) {
  soon ??= setTimeout(refresh, pause);
}

async function refresh() {
  soon = null;
  if (isReading) { isWanted = true; return; }
  isReading = true;
  try {
    await refreshList();
    await refreshHeard().catch(() => null);  // an agent that is away may not be ours to know of any more
    if (isLost) { isLost = false; tell(words.back); keepDraft(); }
  } catch { if (!isOut) lost(); }
  isReading = false;
  if (isWanted) { isWanted = false; hint(40); }
}

function lost() {
  if (!isLost) tell(words.lost, true);
  isLost = true;
  setTimeout(() => hint(), 2000);
}

function listen() {
  stopListening();
  source = new EventSource("/events");
  source.addEventListener("reread", () => hint());
  source.addEventListener("message", () => hint());
  source.addEventListener("error", () => {  // the desk has gone, or something on the way that ends long streams
    source.close();
    again = setTimeout(listen, 1000);
    hint();
  });
}

function stopListening() {
  clearTimeout(again);
  source?.close();
}

if (find("[data-keys]")) {  // somebody is signed in
  listen();
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") leave();
    if (isOut) return;
    // Browsers allow six connections to a place: pages in the background give theirs back, unless they are to notify.
    if (document.visibilityState === "visible") listen(); else if (!wantsNotes()) stopListening();
  });
  window.addEventListener("beforeunload", leave);
  window.addEventListener("pagehide", () => { leave(); stopListening(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) { isSending = false; listen(); } });
  document.addEventListener("pointerdown", () => { isPressed = true; });
  ["pointerup", "pointercancel"].forEach((name) => document.addEventListener(name, () => { isPressed = false; setTimeout(release); }));
  // Agents begin and end their work without a hint, and hear what they are told without one.
  const looking = (deed) => () => { if (document.visibilityState === "visible" && !isOut) deed(); };
  setInterval(looking(hint), 15000);
  setInterval(looking(() => { if (find("#heard[data-waits]")) refreshHeard().catch(() => null); }), 1500);
  find("[data-keys]").addEventListener("click", (event) => { event.preventDefault(); showKeys(); });
}
watchList();
watchForm();
watchTelling();
guard();
stepper();
offerNotes();
offerKeys();
