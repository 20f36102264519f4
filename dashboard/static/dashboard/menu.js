// Menus work without this. With it, a click beside an open one or Escape closes it.
for (const menu of document.querySelectorAll("details.menu")) {
  document.addEventListener("click", (event) => {
    if (menu.open && !event.composedPath().includes(menu)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}
