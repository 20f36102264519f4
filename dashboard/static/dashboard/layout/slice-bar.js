// The slice bar works without this script. With it: on a narrow screen the bar is one button; only one list is open, and
// a click elsewhere or Escape closes it; arrow keys go from name to name; long lists have a search; a changed list is sent
// when it closes; times are in the reader's zone; empty fields stay out of the address. The bar always shows the address,
// also after "back".
const bar = document.querySelector(".slice-bar");

// On a phone the tabs are wider than the screen: scroll to the current one.
const tabs = document.querySelector(".tabs");
const here = tabs?.querySelector("[aria-current]");
if (here) tabs.scrollLeft = here.offsetLeft - (tabs.clientWidth - here.offsetWidth) / 2;

const asAddress = (at) => (Number.isNaN(at.getTime()) ? "" : `${at.toISOString().slice(0, 16)}Z`);

// Returns the value of a datetime-local input, in the reader's zone.
function asLocal(text) {
  const at = new Date(text);
  if (!text || Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

// Gives each time a field in the reader's zone; the hidden field that is sent stays in UTC.
function makeMoments() {
  const moments = [...bar.querySelectorAll("[data-moment]")].map((sent) => {
    const seen = document.createElement("input");
    seen.type = "datetime-local";
    sent.type = "hidden";
    sent.after(seen);
    seen.addEventListener("change", () => { sent.value = seen.value ? asAddress(new Date(seen.value)) : ""; });
    return () => { seen.value = asLocal(sent.value); };
  });
  const zone = bar.querySelector("[data-zone]");
  if (zone) zone.textContent = `Your time zone: ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`;
  return () => moments.forEach((show) => show());
}

function foldBar() {
  const button = bar.querySelector(".filter");
  button.hidden = false;
  bar.classList.add("folds");
  button.addEventListener("click", () => {
    const isOpen = bar.classList.toggle("unfolded");
    button.setAttribute("aria-expanded", String(isOpen));
  });
}

function makeLists() {
  const lists = [...bar.querySelectorAll("details")];
  const closeOthers = (kept) => lists.forEach((list) => { if (list !== kept) list.open = false; });
  for (const list of lists) {
    list.addEventListener("toggle", () => {
      if (!list.open) return;
      closeOthers(list);
      const find = list.querySelector(".narrow-choices");
      if (find) { find.hidden = false; find.focus(); }
    });
    const find = list.querySelector(".narrow-choices");
    find?.addEventListener("input", () => {
      const wanted = find.value.trim().toLowerCase();
      for (const option of list.querySelectorAll(".option")) {
        option.hidden = !option.textContent.toLowerCase().includes(wanted);
      }
    });
    find?.addEventListener("keydown", (event) => { // Enter takes the first that is left
      if (event.key !== "Enter") return;
      event.preventDefault();
      if (find.value.trim()) namesIn(list)[0]?.click();
    });
    list.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step || !list.open || event.target.matches("input:not(.narrow-choices, [type=checkbox])")) return;
      const names = namesIn(list);
      if (!names.length) return;
      event.preventDefault();
      const at = names.findIndex((name) => name.parentElement.contains(event.target));
      names[at < 0 ? (step > 0 ? 0 : names.length - 1) : Math.min(Math.max(at + step, 0), names.length - 1)].focus();
    });
  }
  document.addEventListener("click", (event) => {
    if (lists.some((list) => list.open) && !event.composedPath().some((node) => lists.includes(node))) {
      closeOthers(null);
      if (asSent() !== initial) bar.requestSubmit();
    }
  });
  bar.addEventListener("keydown", (event) => {
    const list = event.target.closest("details");
    if (event.key === "Escape" && list?.open) { list.open = false; list.querySelector("summary").focus(); }
  });
}

// The links of an open list that its search left.
const namesIn = (list) => [...list.querySelectorAll(".option:not([hidden]) > a")];

const asSent = () => new URLSearchParams(new FormData(bar)).toString();
let initial = "";

if (bar) {
  const showMoments = makeMoments();
  showMoments();
  foldBar();
  makeLists();
  initial = asSent();
  bar.addEventListener("submit", () => {
    for (const input of bar.querySelectorAll("input[name]")) if (!input.value) input.disabled = true;
  });
  // A page from the browser's back/forward cache has its fields as they were left, not as in its address.
  window.addEventListener("pageshow", ({ persisted }) => {
    if (!persisted) return;
    for (const input of bar.querySelectorAll("input:disabled")) input.disabled = false;
    bar.reset();
    // `reset` does not change hidden fields: their attribute has the value of the address.
    for (const sent of bar.querySelectorAll("[data-moment]")) sent.value = sent.dataset.moment;
    showMoments();
    bar.querySelectorAll("details").forEach((list) => { list.open = false; });
  });
}

// The flame graph changes the search in the address without a new page, and sends this event. Links and forms with the
// slice (tabs, chips, the bar's own form) then keep the search. What only this page understands (`isOfPage`) stays in the bar.
document.addEventListener("address-kept", ({ detail: { name, value, isOfPage } }) => {
  for (const link of document.querySelectorAll(isOfPage ? ".slice-bar a[data-slice]" : "a[data-slice]")) setParam(link, name, value);
  const wasChanged = bar && asSent() !== initial;
  for (const form of document.querySelectorAll("form.slice-bar, form[data-slice]")) {
    form.querySelector(`input[type=hidden][name="${CSS.escape(name)}"]`)?.remove();
    if (value) form.prepend(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  }
  if (bar && !wasChanged) initial = asSent();
});

function setParam(link, name, value) {
  const address = new URL(link.href);
  if (value) address.searchParams.set(name, value);
  else address.searchParams.delete(name);
  link.href = address.pathname + address.search;
}
