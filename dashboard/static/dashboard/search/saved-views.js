// Saves the page as its address says now: scripts, such as the flame graph's, change it without a new page.
const form = document.querySelector("form.save-view");
form?.addEventListener("submit", () => { form.elements.address.value = location.pathname + location.search; });

// The list is fetched when somebody opens the menu: most pages are read without it.
const menu = document.querySelector("details.saved");
const list = menu?.querySelector("[data-list]");
menu?.addEventListener("toggle", () => { if (menu.open) htmx.ajax("GET", list.dataset.list, { target: list, swap: "innerHTML" }); });
