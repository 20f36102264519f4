// A choice of another release shows it at once, for a pointer; with the keyboard, where each step through the list is a
// change, the button or Enter does.
for (const select of document.querySelectorAll("select[data-submits]")) {
  let byPointer = false;
  select.addEventListener("pointerdown", () => { byPointer = true; });
  select.addEventListener("keydown", () => { byPointer = false; });
  select.addEventListener("change", () => { if (byPointer) select.form.requestSubmit(); });
}
