// Creates a link that opens the profile in the viewer without logging in, and copies it. Also opens what viewers fetch by
// such a link: both sides of a difference, and profiles for speedscope. The link expires. Also copies the address of the page.

import { say } from "./toast.js";

const OPENING = "#open-comparison, button[data-fetched-by]";
const COPYING = `button[data-links-url]:not(${OPENING}), #copy-page`;
const SHOWN = navigator.clipboard ? `${OPENING}, ${COPYING}` : OPENING;
const showButtons = (host) => { for (const button of host.querySelectorAll(SHOWN)) button.hidden = false; };

showButtons(document);
document.body.addEventListener("htmx:afterSwap", (event) => showButtons(event.detail.target)); // a part may add some
document.addEventListener("click", (event) => {
  const button = event.target.closest(SHOWN);
  if (!button) return;
  if (button.matches(OPENING)) openByLink(button);
  else if (button.id === "copy-page") copyPageLink();
  else copyLink(button);
});

// Copies the address of the page itself, which needs a login.
async function copyPageLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    say("Link copied. It opens this page for members of the project.");
  } catch (error) {
    say("The link could not be copied.");
    console.error(error);
  }
}

async function copyLink(button) {
  button.disabled = true;
  try {
    const link = await makeLink(button.dataset);
    if (!link) return;
    await navigator.clipboard.writeText(withSearch(link.viewer_url, button.dataset.profileSearch));
    say(`Link copied. Anyone with it can see this profile until ${untilOf(link)}, without logging in.${warnOf(link)}`);
  } catch (error) {
    say("The link could not be created or copied. Check the connection and try again.");
    console.error(error);
  } finally {
    button.disabled = false;
  }
}

// The viewer opens with this function searched for, as the button next to the menu opens it.
function withSearch(address, search) {
  const url = new URL(address);
  if (search) url.searchParams.set("search", search);
  return url.href;
}

async function openByLink(button) {
  const viewer = window.open("", "_blank"); // open it during the click: later, the browser would block it as a pop-up
  if (!viewer) return say("The browser blocked the new window. Allow pop-ups for this site and try again.");
  viewer.opener = null;
  button.disabled = true;
  let link = null;
  try {
    link = await makeLink(button.dataset);
    if (!link) return;
    const { fetchedBy, profileName } = button.dataset;
    const hash = `#profileURL=${encodeURIComponent(link.url)}&title=${encodeURIComponent(profileName)}`;
    const address = fetchedBy ? `${fetchedBy}/${hash}` : link.compare_url;
    viewer.location.replace(address);
    const what = fetchedBy ? "the profile" : "both sides";
    say(`Opened in a new window. Anyone with its address can see ${what} until ${untilOf(link)}.${warnOf(link, address)}`);
  } catch (error) {
    say("The link could not be created. Check the connection and try again.");
    console.error(error);
  } finally {
    if (!link) viewer.close();
    button.disabled = false;
  }
}

// Returns a new link, or null after showing why there is none.
async function makeLink({ linksUrl, profileUrl }) {
  const response = await fetch(linksUrl, {
    method: "POST",
    credentials: "same-origin",
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrfToken() },
    body: JSON.stringify({ params: readParams(profileUrl) }),
  });
  if (response.ok) return response.json();
  const words = response.status === 401
    ? "You are logged out. Reload this page and log in."
    : `The server could not create a link (status ${response.status}).`;
  say(words);
  return null;
}

function untilOf(link) {
  return new Date(link.expires_at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

// Returns a warning if browsers will block the viewer's request: their own messages do not explain it.
function warnOf(link, address = link.viewer_url) {
  const [here, viewer] = [new URL(link.url), new URL(address)];
  if (here.protocol === "https:" || viewer.protocol === "http:") return "";
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(here.hostname);
  return isLocal
    ? " It works only on this computer. Chrome asks for access to the local network first; Safari refuses."
    : " Browsers will refuse it, because this server uses http and the viewer https. Put this server behind https, or set a viewer of your own.";
}

function readParams(address) {
  const params = {};
  for (const [name, value] of new URL(address, location.href).searchParams) (params[name] ??= []).push(value);
  return params;
}

function csrfToken() {
  return document.querySelector("input[name=csrfmiddlewaretoken]").value; // in the logout form
}
