// Menus work without this. With it, a click beside an open one or Escape closes it; some come later, with a part of the page.
const OPEN = "details.menu[open]";

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(OPEN)) if (!event.composedPath().includes(menu)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  const menu = event.target.closest(OPEN);
  if (event.key !== "Escape" || !menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
