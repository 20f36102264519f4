// The slice bar works without this. With it: on a narrow screen it is one button, one list is open at a time, a click
// beside it or Escape closes it, long lists can be narrowed, a choice that was changed is sent when its list closes,
// times are the reader's, and empty fields stay out of the address. What it shows is the address, also after "back".
const bar = document.querySelector(".slice-bar");

// On a phone the tabs are wider than the screen: the one that is here is in sight.
const tabs = document.querySelector(".tabs");
const here = tabs?.querySelector("[aria-current]");
if (here) tabs.scrollLeft = here.offsetLeft - (tabs.clientWidth - here.offsetWidth) / 2;

const asAddress = (at) => (Number.isNaN(at.getTime()) ? "" : `${at.toISOString().slice(0, 16)}Z`);

// What a datetime-local input holds: the reader's own day and clock.
function asLocal(text) {
  const at = new Date(text);
  if (!text || Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

// Gives each time a field in the reader's zone; the one that is sent stays in UTC, unseen.
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
  if (zone) zone.textContent = `Times are yours: ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`;
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
      for (const label of list.querySelectorAll(".choices label")) {
        label.hidden = !label.textContent.toLowerCase().includes(wanted);
      }
    });
    find?.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
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
  // A page that comes back from the browser's memory has its fields as they were left, not as its address says.
  window.addEventListener("pageshow", ({ persisted }) => {
    if (!persisted) return;
    for (const input of bar.querySelectorAll("input:disabled")) input.disabled = false;
    bar.reset();
    // A hidden field keeps what a script gave it; its attribute is what the page came with.
    for (const sent of bar.querySelectorAll("[data-moment]")) sent.value = sent.dataset.moment;
    showMoments();
    bar.querySelectorAll("details").forEach((list) => { list.open = false; });
  });
}

// The flame graph keeps its search in the address without a new page, and says so by this event. Whatever leads to the
// slice elsewhere (tabs, chips, the bar's own form) then takes it along.
document.addEventListener("address-kept", ({ detail: { name, value } }) => {
  for (const link of document.querySelectorAll("a[data-slice]")) setParam(link, name, value);
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
