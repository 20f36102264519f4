// Saves the page as its address says now: scripts, such as the flame graph's, change it without a new page.
const form = document.querySelector("form.save-view");
form?.addEventListener("submit", () => { form.elements.address.value = location.pathname + location.search; });
