// Creates a link that opens the profile in the viewer without logging in, and copies it. For a difference, opens both
// sides in the viewer, which fetches them with such a link. The link expires. Also copies the address of the page.

import { say } from "./toast.js";

const BUTTONS = "button[data-links-url]:not(#open-comparison)"; // a part of the page may add one later
const PAGE_BUTTON = "#copy-page";
const showButtons = (host) => { for (const button of host.querySelectorAll(`${BUTTONS}, ${PAGE_BUTTON}`)) button.hidden = false; };

if (navigator.clipboard) {
  showButtons(document);
  document.body.addEventListener("htmx:afterSwap", (event) => showButtons(event.detail.target));
  document.addEventListener("click", (event) => {
    const button = event.target.closest(BUTTONS);
    if (button) copyLink(button);
    else if (event.target.closest(PAGE_BUTTON)) copyPageLink();
  });
}

const comparison = document.getElementById("open-comparison");
if (comparison) {
  comparison.hidden = false;
  comparison.addEventListener("click", openComparison);
}

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

async function openComparison() {
  const viewer = window.open("", "_blank"); // open it during the click: later, the browser would block it as a pop-up
  if (!viewer) return say("The browser blocked the new window. Allow pop-ups for this site and try again.");
  viewer.opener = null;
  comparison.disabled = true;
  let link = null;
  try {
    link = await makeLink(comparison.dataset);
    if (!link) return;
    viewer.location.replace(link.compare_url);
    say(`Opened in a new window. Anyone with its address can see both sides until ${untilOf(link)}.${warnOf(link)}`);
  } catch (error) {
    say("The link could not be created. Check the connection and try again.");
    console.error(error);
  } finally {
    if (!link) viewer.close();
    comparison.disabled = false;
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
function warnOf(link) {
  const [here, viewer] = [new URL(link.url), new URL(link.viewer_url)];
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
