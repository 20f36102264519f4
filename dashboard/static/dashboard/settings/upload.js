// Accepts a whole build folder: its scripts and maps become one tar file, whose headers are created here. Warns about
// files that are too large before the upload. Without this script, the form accepts files of one folder or a tar file.

const form = document.getElementById("upload-form");
const files = form.querySelector("[name=build]");
const folder = document.getElementById("folder");
const statusLine = document.getElementById("upload-status");
const WANTED = /\.(js|mjs|cjs)(\.map)?$/i;
const BLOCK = 512;

document.getElementById("folder-field").hidden = false;
folder.addEventListener("change", () => {
  const wanted = [...folder.files].filter((file) => WANTED.test(file.name));
  if (wanted.length === 0) return say("This folder has no scripts or source maps.");
  const parts = [];
  for (const file of wanted) {
    const path = file.webkitRelativePath.split("/").slice(1).join("/");
    const head = makeHeader(path, file.size);
    if (head === null) return say(`The path ${path} is too long for a tar file.`);
    parts.push(head, file, new Uint8Array((BLOCK - (file.size % BLOCK)) % BLOCK));
  }
  parts.push(new Uint8Array(2 * BLOCK));
  give([new File(parts, "build.tar")]);
  say(`${wanted.length} scripts and maps, ${size(files.files[0].size)}.`);
});
files.addEventListener("change", () => {
  folder.value = "";
  say([...files.files].map((file) => `${file.name} (${size(file.size)})`).join(", "));
});
form.addEventListener("submit", (event) => {
  const sum = [...files.files].reduce((total, file) => total + file.size, 0);
  const limit = Number(form.dataset.limit);
  if (sum > limit) {
    event.preventDefault();
    say(`These files are larger than ${size(limit)} together. Upload them in parts from the command line.`);
    return;
  }
  if (files.files.length > Number(form.dataset.maxFiles)) {
    event.preventDefault();
    say(`At most ${form.dataset.maxFiles} files are accepted. Choose their folder or a tar file.`);
    return;
  }
  say("Uploading and reading. This can take a minute…");
});

function give(chosen) {
  const transfer = new DataTransfer();
  for (const file of chosen) transfer.items.add(file);
  files.files = transfer.files;
}

// A header of the ustar format: https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html
function makeHeader(path, length) {
  const encoder = new TextEncoder();
  const [prefix, name] = splitPath(path, encoder);
  if (name === null) return null;
  const head = new Uint8Array(BLOCK);
  const put = (text, at) => head.set(encoder.encode(text), at);
  const octal = (number, digits) => number.toString(8).padStart(digits, "0");
  put(name, 0);
  put("0000644\0", 100);
  put("0000000\0", 108);
  put("0000000\0", 116);
  put(`${octal(length, 11)}\0`, 124);
  put("00000000000\0", 136);
  put("        ", 148); // the checksum field counts as spaces
  put("0", 156);
  put("ustar\0" + "00", 257);
  put(prefix, 345);
  put(`${octal(head.reduce((sum, byte) => sum + byte, 0), 6)}\0 `, 148);
  return head;
}

// A name has 100 bytes; the prefix before it, up to a slash, has 155 more.
function splitPath(path, encoder) {
  const fits = (text, most) => encoder.encode(text).length <= most;
  if (fits(path, 100)) return ["", path];
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) {
    if (fits(path.slice(0, at), 155) && fits(path.slice(at + 1), 100)) return [path.slice(0, at), path.slice(at + 1)];
  }
  return ["", null];
}

function say(sentence) {
  statusLine.textContent = sentence;
}

function size(bytes) {
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} kB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
