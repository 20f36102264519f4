const GROW_KEY = "flame-grow"; // which way the graph grows is a reader's own taste: no link says it

// The row of tools: groups of buttons of which one is pressed, a select, a checkbox. Calls `onChange(name)`.
export function makeTools(host, onChange) {
  const groupOf = (name) => host.querySelector(`.segmented[data-name=${name}]`);
  const fieldOf = (name) => host.querySelector(`:is(select, [type=checkbox])[name=${name}]`);
  const press = (button) => {
    for (const other of button.parentElement.children) other.setAttribute("aria-pressed", other === button);
  };

  host.addEventListener("click", ({ target }) => {
    const more = target.closest(".more-tools-button"); // on a narrow screen
    if (more) more.setAttribute("aria-expanded", more.getAttribute("aria-expanded") !== "true");
    const button = target.closest(".segmented[data-name] > button");
    if (!button || button.getAttribute("aria-pressed") === "true") return;
    press(button);
    onChange(button.parentElement.dataset.name);
  });
  host.addEventListener("change", ({ target }) => { if (target.matches("select, [type=checkbox]")) onChange(target.name); });

  return {
    // Of a checkbox, "1" or nothing. Undefined if there is no such tool.
    value(name) {
      const pressed = groupOf(name)?.querySelector("[aria-pressed=true]");
      if (pressed) return pressed.value;
      const field = fieldOf(name);
      return field?.type === "checkbox" ? (field.checked ? "1" : "") : field?.value;
    },
    // Sets a tool, if it has such a choice, and returns whether it has.
    set(name, value) {
      const button = [...(groupOf(name)?.children ?? [])].find((each) => each.value === value);
      if (button) press(button);
      const field = fieldOf(name);
      if (field?.type === "checkbox") field.checked = Boolean(value);
      else if (field && [...field.options].some((option) => option.value === value)) field.value = value;
      else return Boolean(button);
      return true;
    },
    // Shows the tools of a panel.
    showFor(panel) {
      for (const tool of host.querySelectorAll("[data-for]")) tool.hidden = !tool.dataset.for.split(" ").includes(panel);
    },
  };
}

// Without storage, a browser throws: the choice is then kept on this page only.
export function recallGrowth() {
  try {
    return localStorage.getItem(GROW_KEY);
  } catch {
    return null;
  }
}

export function rememberGrowth(choice) {
  try {
    localStorage.setItem(GROW_KEY, choice);
  } catch { /* see above */ }
}
