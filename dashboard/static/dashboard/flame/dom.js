// Makes elements: all text goes in as text.
export function make(tag, properties = {}, ...children) {
  const { data, aria, ...rest } = properties;
  const element = Object.assign(document.createElement(tag), rest);
  Object.assign(element.dataset, data);
  for (const [name, value] of Object.entries(aria ?? {})) element.setAttribute(`aria-${name}`, value);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

export function makeSwatch(property) {
  return make("span", { className: `swatch ${property.slice(2)}`, ariaHidden: "true" });
}
