// The slice bar works without this. With it: one list is open at a time, a click beside it or Escape closes it, long lists
// can be narrowed, a choice that was changed is sent when its list closes, and empty fields stay out of the address.
const bar = document.querySelector(".slice-bar");

const zone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
for (const time of document.querySelectorAll("time[data-local]")) {
  const at = new Date(time.dateTime);
  time.title = time.title || `${time.textContent.trim()} UTC`;
  time.textContent = zone.format(at);
}

if (bar) {
  const lists = [...bar.querySelectorAll("details")];
  const before = () => new URLSearchParams(new FormData(bar)).toString();
  const initial = before();

  const closeOthers = (kept) => lists.forEach((list) => { if (list !== kept) list.open = false; });
  const send = () => { if (before() !== initial) bar.requestSubmit(); };

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
      send();
    }
  });
  bar.addEventListener("keydown", (event) => {
    const list = event.target.closest("details");
    if (event.key === "Escape" && list?.open) { list.open = false; list.querySelector("summary").focus(); }
  });
  bar.addEventListener("submit", () => {
    for (const input of bar.querySelectorAll("input[name]")) if (!input.value) input.disabled = true;
  });
  // A page that comes back from the browser's memory has its fields disabled.
  window.addEventListener("pageshow", () => bar.querySelectorAll("input:disabled").forEach((input) => { input.disabled = false; }));
}
