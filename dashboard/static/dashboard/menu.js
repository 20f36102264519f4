// Menus, and what explains a row's figures, work without this. With it, a click beside an open one or Escape closes it;
// on a narrow screen what explains lies in the page, and stays.
const wide = window.matchMedia("(min-width: 701px)");
const opened = () => [...document.querySelectorAll(`details.menu[open]${wide.matches ? ", details.explain[open]" : ""}`)];

document.addEventListener("click", (event) => {
  for (const menu of opened()) if (!event.composedPath().includes(menu)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && opened().find((each) => each.contains(event.target));
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
