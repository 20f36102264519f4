// Menus and the details of a row work without this script. With it, a click elsewhere, Escape, or a click on a button in
// a menu closes them. On a narrow screen, details are part of the page and stay open.
const wide = window.matchMedia("(min-width: 701px)");
const opened = () => [...document.querySelectorAll(`details.menu[open]${wide.matches ? ", details.explain[open]" : ""}`)];

document.addEventListener("click", (event) => {
  const taken = event.target.closest(".menu li button");
  for (const menu of opened()) {
    if (!event.composedPath().includes(menu)) menu.open = false;
    else if (taken) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  }
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && opened().find((each) => each.contains(event.target));
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
