// Opens the slice in the Firefox Profiler: a window of the viewer is opened on the click, and once it says that it
// listens, it is handed the profile, fetched here with this session. No server but this one and the viewer is asked, and
// the profile goes to the viewer's origin alone. A page has any number of such buttons; some come later, with its parts.

const ASK_EVERY_MS = 250;
const PATIENCE_MS = 30_000;

const BUTTONS = "button[data-viewer-origin]";
const statusLine = document.getElementById("open-status");
const showButtons = (host) => { for (const button of host.querySelectorAll(BUTTONS)) button.hidden = false; };

showButtons(document);
document.body.addEventListener("htmx:afterSwap", (event) => showButtons(event.detail.target));
document.addEventListener("click", (event) => {
  const button = event.target.closest(BUTTONS);
  if (button) openProfile(button);
});

async function openProfile(button) {
  const { viewerOrigin, profileUrl, profileName } = button.dataset;
  const address = `${viewerOrigin}/from-post-message/calltree/?profileName=${encodeURIComponent(profileName)}`;
  // At once, while this is still the person's click: later, the browser would take it for a pop-up.
  const viewer = window.open(address, "_blank");
  if (!viewer) {
    say("The browser blocked the new window. Allow pop-ups for this site and try again.");
    return;
  }
  button.disabled = true;
  say("Fetching the profile…");
  const waiting = new AbortController();
  try {
    const [profile] = await Promise.all([
      fetchProfile(profileUrl, waiting.signal),
      waitUntilListening(viewer, viewerOrigin, waiting.signal),
    ]);
    viewer.postMessage({ name: "inject-profile", profile }, viewerOrigin, [profile]);
    say("Opened in a new window.");
  } catch (error) {
    say(error instanceof Problem ? error.message : "The profile could not be opened; the browser’s console says more.");
    if (!(error instanceof Problem)) console.error(error);
  } finally {
    waiting.abort();
    button.disabled = false;
  }
}

class Problem extends Error {}

async function fetchProfile(url, signal) {
  let response;
  try {
    response = await fetch(url, { credentials: "same-origin", signal });
  } catch {
    throw new Problem("This server did not answer. Check the connection and try again.");
  }
  if (response.status === 401) throw new Problem("You are logged out by now. Reload this page and log in.");
  if (response.status === 404) throw new Problem("The project is gone, or you may no longer see it.");
  if (!response.ok) throw new Problem(`This server could not make the profile (status ${response.status}).`);
  try {
    return await response.arrayBuffer();
  } catch {
    throw new Problem("The profile did not arrive whole. Try again.");
  }
}

function waitUntilListening(viewer, origin, signal) {
  return new Promise((resolve, reject) => {
    // Nothing is in this message, so any origin may see it: until the viewer is loaded, the window is a blank page of ours.
    const asking = setInterval(() => {
      if (viewer.closed) reject(new Problem("The new window was closed before the profile was there."));
      else viewer.postMessage({ name: "ready:request" }, "*");
    }, ASK_EVERY_MS);
    const patience = setTimeout(() => {
      reject(new Problem(`The viewer at ${origin} did not answer. Download the profile and drop it onto the viewer.`));
    }, PATIENCE_MS);
    const hear = (event) => {
      if (event.source === viewer && event.origin === origin && event.data?.name === "ready:response") resolve();
    };
    window.addEventListener("message", hear);
    signal.addEventListener("abort", () => {
      clearInterval(asking);
      clearTimeout(patience);
      window.removeEventListener("message", hear);
    });
  });
}

function say(sentence) {
  statusLine.textContent = sentence;
}
