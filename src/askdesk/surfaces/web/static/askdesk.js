// Keeps the page live by fetching fragments that the server renders. Without it everything still works, after a reload.

const root = document.documentElement;
root.classList.add("scripted");
const told = document.getElementById("told");
const ask = () => document.getElementById("ask");
const form = () => document.getElementById("answer");
const list = () => document.getElementById("list");
const isTyping = (element) => element?.matches?.("textarea, select, input:not([type=radio]):not([type=checkbox])");

const tell = (words) => { if (told) told.textContent = words; };

async function fragment(path) {
  const response = await fetch(path, { credentials: "same-origin", headers: { Accept: "text/html" } });
  if (response.status === 401) return location.reload();
  if (!response.ok) throw new Error(`${response.status}`);
  const html = new DOMParser().parseFromString(await response.text(), "text/html");
  return html.body.firstElementChild;
}

// The list: never moved under a pointer or a focus. What waits to be shown is offered as a button.
let waitingList = null;
const isHeld = () => list()?.matches(":hover, :focus-within") ?? false;

async function refreshList() {
  const here = list();
  if (!here) return refreshCount();
  const current = ask()?.dataset.id ?? "";
  const query = new URLSearchParams(here.dataset.query.replace(/^\?/, ""));
  if (current) query.set("current", current);
  const fresh = await fragment(`/fragments/list?${query}`);
  if (!fresh) return;
  announce(here, fresh);
  count(fresh);
  if (changes(here, fresh) === 0) return place(fresh);
  if (isHeld()) hold(here, fresh); else place(fresh);
}

async function refreshCount() {
  const fresh = await fragment("/fragments/list");
  if (fresh) count(fresh);
}

const rows = (element) => [...element.querySelectorAll("li[data-id]")];
const ids = (element) => rows(element).map((row) => row.dataset.id);

function changes(here, fresh) {
  const before = new Set(ids(here)), after = new Set(ids(fresh));
  return [...before].filter((id) => !after.has(id)).length + [...after].filter((id) => !before.has(id)).length;
}

function place(fresh) {
  waitingList = null;
  const here = list();
  const focused = here.contains(document.activeElement) ? document.activeElement.closest("li")?.dataset.id : null;
  const top = here.scrollTop;
  here.replaceWith(fresh);
  fresh.scrollTop = top;
  if (focused) fresh.querySelector(`li[data-id="${focused}"] a`)?.focus({ preventScroll: true });
  watchList();
}

function hold(here, fresh) {
  waitingList = fresh;
  const after = new Set(ids(fresh));
  for (const row of rows(here)) row.classList.toggle("gone", !after.has(row.dataset.id));
}

function release() {
  if (waitingList && !isHeld()) place(waitingList);
}

function watchList() {
  const here = list();
  if (!here) return;
  here.addEventListener("pointerleave", release);
  here.addEventListener("focusout", () => setTimeout(release));
  here.querySelectorAll(".filters select").forEach((select) => select.addEventListener("change", () => select.form.submit()));
}

function count(fresh) {
  const open = fresh.dataset.count;
  document.querySelectorAll("[data-count]:not(nav)").forEach((place) => { place.textContent = open; });
  document.title = document.title.replace(/^\(\d+\) /, "").replace(/^/, open > 0 ? `(${open}) ` : "");
}

// New asks are said politely, and as a note of the browser where the person wants that.
const known = new Set(list() ? ids(list()) : []);

function announce(here, fresh) {
  const fresher = rows(fresh).filter((row) => !known.has(row.dataset.id));
  fresher.forEach((row) => known.add(row.dataset.id));
  if (!fresher.length) return;
  const words = fresher.map((row) => row.innerText.replace(/\s+/g, " ").trim());
  tell(words.slice(0, 3).join(" — "));
  fresher.slice(0, 3).forEach(note);
}

function note(row) {
  if (!wantsNotes() || (document.visibilityState === "visible" && document.hasFocus())) return;
  const about = row.querySelector(".about").innerText, subject = row.querySelector(".subject bdi").innerText;
  const shown = new Notification(about, { body: subject.slice(0, 200), tag: row.dataset.id, icon: "/static/icon.svg" });
  shown.addEventListener("click", () => { window.focus(); location.href = `/asks/${row.dataset.id}`; });
}

const wantsNotes = () => "Notification" in window && Notification.permission === "granted" && localStorage.getItem("notify") === "yes";

function offerNotes() {
  const button = document.querySelector("[data-notify]");
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

// The ask on the page: when somebody else settles it, the page says so and keeps what was typed.
async function refreshAsk() {
  const here = ask();
  if (!here || here.dataset.state === "settled") return;
  const fresh = await fragment(`/fragments/asks/${here.dataset.id}`);
  if (!fresh || fresh.dataset.state !== "settled") return;
  const filled = form();
  await keepDraft(true);
  const after = (await fragment(`/fragments/asks/${here.dataset.id}`)) ?? fresh;
  const focused = here.contains(document.activeElement);
  here.replaceWith(after);
  if (focused) document.getElementById("main").focus({ preventScroll: true });
  tell(after.querySelector(".ended")?.innerText ?? "");
  filled?.remove();
}

// Drafts are kept on the desk, a moment after the last key.
let keeping = null, keptFields = null;
const fieldsOf = (filled) => new URLSearchParams(new FormData(filled)).toString();
const typedOf = (filled) => { const fields = new URLSearchParams(new FormData(filled)); ["submission", "stamp", "form"].forEach((name) => fields.delete(name)); return fields.toString(); };

async function keepDraft(now = false) {
  clearTimeout(keeping);
  const filled = form();
  if (!filled?.dataset.draft || typedOf(filled) === keptFields) return;
  const typed = typedOf(filled), place = filled.querySelector("[data-kept]");
  try {
    const response = await fetch(filled.dataset.draft, {
      method: "POST", credentials: "same-origin", keepalive: now, body: fieldsOf(filled),
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
    });
    if (!response.ok) throw new Error(`${response.status}`);
    keptFields = typed;
    if (place) place.textContent = place.dataset.yes ?? "";
  } catch {
    if (place) place.textContent = place.dataset.no ?? "";
    if (!now) keeping = setTimeout(keepDraft, 3000);
  }
}

function watchForm() {
  const filled = form();
  if (!filled?.dataset.draft) return;
  keptFields = typedOf(filled);
  filled.addEventListener("input", (event) => {
    tickOther(event.target);
    clearTimeout(keeping);
    keeping = setTimeout(keepDraft, 300);
  });
  filled.addEventListener("submit", () => { clearTimeout(keeping); keptFields = typedOf(filled); });
}

function tickOther(field) {
  const named = /^(q\d+)\.own$/.exec(field.name);
  const other = named && document.getElementById(`${named[1]}-own`);
  if (other && field.value.trim()) other.checked = true;
}

// What lets a call run is inert until it was visible and in focus for half a second.
function guard() {
  for (const place of document.querySelectorAll("[data-guard]")) {
    const buttons = [...place.querySelectorAll("button:not([disabled])")].filter((button) => ["allow", "run", "remember"].includes(button.value));
    if (!buttons.length) continue;
    let visible = false, timer = null;
    const arm = () => {
      clearTimeout(timer);
      const ready = visible && document.hasFocus() && document.visibilityState === "visible";
      if (!ready) buttons.forEach((button) => { button.disabled = true; button.classList.add("waiting"); });
      else timer = setTimeout(() => buttons.forEach((button) => { button.disabled = false; button.classList.remove("waiting"); }), 500);
    };
    buttons.forEach((button) => { button.disabled = true; button.classList.add("waiting"); });
    new IntersectionObserver((entries) => { visible = entries.at(-1).isIntersecting; arm(); }, { threshold: 0.9 }).observe(buttons[0]);
    window.addEventListener("focus", arm);
    window.addEventListener("blur", arm);
    document.addEventListener("visibilitychange", arm);
  }
}

// On a phone the questions come one after the other.
function stepper() {
  const filled = form(), steps = filled?.querySelector(".steps");
  const questions = [...(filled?.querySelectorAll("fieldset.question") ?? [])];
  if (!steps || questions.length < 2) return;
  const narrow = window.matchMedia("(max-width: 40rem)");
  const [back, on] = steps.querySelectorAll("[data-step]"), place = steps.querySelector("[data-step-place]");
  const send = filled.querySelector("button[value=send]"), review = filled.querySelector("button[value=review]");
  let at = Math.max(questions.findIndex((question) => `#${question.id}` === location.hash), 0);
  const show = () => {
    steps.hidden = !narrow.matches;
    questions.forEach((question, number) => { question.hidden = narrow.matches && number !== at; });
    const last = at === questions.length - 1;
    back.disabled = at === 0;
    on.hidden = narrow.matches && last;
    send.hidden = narrow.matches;
    review.hidden = narrow.matches && !last;
    review.classList.toggle("primary", narrow.matches);
    place.textContent = `${at + 1} / ${questions.length}`;
  };
  const step = (by) => { at = Math.min(Math.max(at + by, 0), questions.length - 1); show(); questions[at].querySelector("input, textarea").focus(); window.scrollTo(0, 0); };
  back.addEventListener("click", () => step(-1));
  on.addEventListener("click", () => step(1));
  narrow.addEventListener("change", show);
  show();
}

// Keys: none of them sends anything.
let before = "";
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape" && isTyping(document.activeElement)) return document.activeElement.blur();
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const key = event.key, pair = `${before} ${key}`;
  before = key;
  if (pair === "g i") location.href = "/";
  else if (pair === "g s") location.href = "/settled";
  else if (key === "j" || key === "k") { event.preventDefault(); move(key === "j" ? 1 : -1); }
  else if (key === "?") { event.preventDefault(); showKeys(); }
  else if (key === "/") { event.preventDefault(); search(); }
  else if (key === "n") { event.preventDefault(); addNote(); }
  else if (/^[1-9]$/.test(key)) choose(Number(key) - 1);
});

function move(by) {
  const links = [...document.querySelectorAll(".asks li a")];
  if (!links.length) return;
  const at = links.findIndex((link) => link === document.activeElement);
  const from = at >= 0 ? at : links.findIndex((link) => link.getAttribute("aria-current"));
  links[Math.min(Math.max(from + by, 0), links.length - 1)].focus();
}

const questionHere = () => document.activeElement?.closest?.("fieldset.question")
  ?? [...document.querySelectorAll("fieldset.question:not([hidden])")].find((question) => !question.querySelector("input:checked"))
  ?? document.querySelector("fieldset.question:not([hidden])");

function choose(number) {
  const inputs = questionHere()?.querySelectorAll(".card:not(.own) .choice input");
  const input = inputs?.[number];
  if (!input) return;
  input.focus();
  input.checked = input.type === "checkbox" ? !input.checked : true;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

function addNote() {
  const notes = questionHere()?.querySelector("details.notes");
  if (!notes) return;
  notes.open = true;
  notes.querySelector("textarea").focus();
}

function search() {
  const field = document.querySelector("[data-search]");
  if (field) field.focus(); else location.href = "/settled";
}

async function showKeys() {
  const dialog = document.createElement("dialog");
  const keys = await fragment("/fragments/keys");
  const heading = document.createElement("h2"), close = document.createElement("button"), link = document.querySelector("[data-keys]");
  heading.textContent = link?.textContent ?? "";
  heading.id = "keys-title";
  close.textContent = keys.dataset.close;
  close.addEventListener("click", () => dialog.close());
  dialog.setAttribute("aria-labelledby", heading.id);
  dialog.append(heading, keys, close);
  dialog.addEventListener("close", () => { dialog.remove(); link?.focus({ preventScroll: true }); });
  document.body.append(dialog);
  dialog.showModal();
}

document.querySelector("[data-keys]")?.addEventListener("click", (event) => { event.preventDefault(); showKeys(); });

// Hints: which asks may have changed. Each one means reading again; several at once are one.
let soon = null, wholly = false, lostAt = 0;
const changed = new Set();

function hint(id) {
  if (id) changed.add(id); else wholly = true;
  soon ??= setTimeout(refresh, 40);
}

async function refresh() {
  const mine = ask()?.dataset.id, touched = wholly || changed.has(mine);
  soon = null; wholly = false; changed.clear();
  try {
    await Promise.all([touched ? refreshAsk() : null, refreshList()]);
  } catch { soon ??= setTimeout(() => { wholly = true; refresh(); }, 2000); }
}

function listen() {
  const source = new EventSource("/events");
  source.addEventListener("reread", () => {
    if (lostAt) { tell(document.body.dataset.back ?? ""); lostAt = 0; }
    hint();
  });
  source.addEventListener("message", (event) => hint(JSON.parse(event.data).ask));
  source.addEventListener("error", () => {
    if (!lostAt) { lostAt = Date.now(); tell(document.body.dataset.lost ?? ""); }
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  });
  return source;
}

if (document.querySelector("[data-keys]")) {  // somebody is signed in
  let source = listen();
  document.addEventListener("visibilitychange", () => {
    // Browsers allow six connections to a place: pages in the background give theirs back, unless they are to notify.
    if (document.visibilityState === "hidden" && !wantsNotes()) { source.close(); }
    else if (source.readyState === EventSource.CLOSED) { source = listen(); }
  });
  window.addEventListener("pagehide", () => { keepDraft(true); source.close(); });
  setInterval(() => { if (document.visibilityState === "visible") refreshList().catch(() => {}); }, 60000);
}
watchList();
watchForm();
guard();
stepper();
offerNotes();
