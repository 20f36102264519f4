// What the address says about the graph, besides the slice. Links and forms of the bar of filters keep it too.
const NAMES = ["show", "func", "order", "collapse", "width", "colour", "focus", "selected"];

export function readKept() {
  const params = new URLSearchParams(location.search);
  return Object.fromEntries(NAMES.map((name) => [name, params.get(name) ?? ""]));
}

// Writes what is shown into the address. A step is one that "Back" undoes; `isZoom` marks it as a way into the graph.
export function keep(values, { isStep = false, isZoom = false } = {}) {
  const address = new URL(location.href);
  address.searchParams.delete("plain");
  for (const name of NAMES) {
    if (values[name]) address.searchParams.set(name, values[name]);
    else address.searchParams.delete(name);
  }
  const kept = readKept();
  if (address.href !== location.href) {
    if (isStep) history.pushState({ isZoom }, "", address);
    else history.replaceState(history.state, "", address);
  }
  for (const name of NAMES) {
    if (kept[name] === (values[name] ?? "") && isTold.has(name)) continue;
    isTold.add(name);
    document.dispatchEvent(new CustomEvent("address-kept", { detail: { name, value: values[name] ?? "", isOfPage: true } }));
  }
}
const isTold = new Set();

// Keeps the search in the address, and in links to pages with functions.
export function keepSearch(q) {
  const address = new URL(location.href);
  if (q === (address.searchParams.get("q") ?? "")) return;
  if (q) address.searchParams.set("q", q);
  else address.searchParams.delete("q");
  history.replaceState(history.state, "", address);
  document.dispatchEvent(new CustomEvent("address-kept", { detail: { name: "q", value: q } }));
}
