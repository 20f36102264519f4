// Bundles src/: the classic script, the inline stub, and the packages for people's own bundles. The output is
// committed, since a user's machine has no Node; a test rebuilds it and compares. So is the list of the places of the
// script's functions, by which the server tells the snippet's own work from the page's.
// Usage: node build.mjs [FOLDER]
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parse } from 'acorn';
import { build } from 'esbuild';
import { minify } from 'terser';

const here = new URL('.', import.meta.url);
const { version } = JSON.parse(await readFile(new URL('package.json', here), 'utf8'));
const folder = process.argv[2] ?? fileURLToPath(new URL('dist', here));
const FULL = '-full'; // behind the version that the full core says
const ES_VERSION = 2020; // docs/adr/0001-recording-in-chunks.md says why
// All functions are compiled off the main thread, with the script, rather than each at its first call.
const HINT = '//# allFunctionsCalledOnLoad\n';
// What bundles and minifies in one step. The stub stays as it is, since pages allow it by its hash.
const SIMPLE = { bundle: true, charset: 'ascii', legalComments: 'none' };

/** Returns the options of terser, which makes files 0.2 kB smaller (gzipped) than esbuild's own minifier. */
function optionsOf(isBare) {
  return {
    ecma: ES_VERSION,
    module: true, // so that names of the top level are shortened too
    compress: {
      passes: 4,
      booleans_as_integers: true, // no JSON has a literal of ours
      hoist_funs: true,
      keep_fargs: false, // nobody asks for the length of our functions
      pure_getters: true, // none that we read does anything
      unsafe_arrows: true, // no function of ours is constructed
      unsafe: true, // nor are the browser's own functions replaced by others
      unsafe_math: true,
      unsafe_comps: true,
      pure_funcs: isBare ? ['log', 'miss', 'release'] : [], // the bare core tells nobody, and the browser holds nothing
    },
    // Own names of properties end with an underscore. Neither the browser's do, nor those of the envelope.
    mangle: { properties: { regex: /_$/ } },
    format: { ascii_only: true }, // the including page may declare any encoding
  };
}

/** `isBare` leaves out, and `isFull` adds, what docs/snippet.md lists under "The bare core" and "The full core". */
async function bundle(source, target, { isBare = false, isFull = false, isModule = false } = {}) {
  const { outputFiles } = await build({
    ...SIMPLE,
    entryPoints: [fileURLToPath(new URL(`src/${source}`, here))],
    write: false,
    format: 'esm',
    target: `es${ES_VERSION}`,
    define: { BARE: String(isBare), FULL: String(isFull), VERSION: JSON.stringify(version + (isFull ? FULL : '')) },
  });
  const text = outputFiles[0].text.replace(/^(\s*(for \()?)const\b/gm, '$1let'); // one word instead of two packs smaller
  const { code } = await minify(text, optionsOf(isBare));
  await writeFile(`${folder}/${target}`, isModule ? `${code}\n` : `${HINT}(()=>{${code.replace(/;$/, '')}})();\n`);
}

/** Yields [line, column] of each function of a script, from 1, as V8 has it: where its parameters begin. */
function* findFunctions(text) {
  yield [1, 1]; // the script itself
  const pending = [parse(text, { ecmaVersion: ES_VERSION })];
  while (pending.length) {
    const node = pending.pop();
    if (/^(Arrow)?Function/.test(node.type)) {
      const at = node.type[0] === 'A' ? node.start : text.indexOf('(', node.id?.end ?? node.start);
      yield [2, at + 1 - HINT.length]; // of one line, after the hint
    }
    pending.push(...Object.values(node).flat().filter((child) => child?.type));
  }
}

/** Writes the places of the functions of this version's scripts, beside those of other versions. */
async function listFunctions() {
  const list = new URL('../../profcore/data/snippet-functions.json', here);
  const known = JSON.parse(await readFile(list, 'utf8'));
  for (const [name, file] of [[version, 'snippet'], [version + FULL, 'full']]) {
    known[name] = [...findFunctions(await readFile(`${folder}/${file}.js`, 'utf8'))].sort((a, b) => a[1] - b[1]);
  }
  await writeFile(process.argv[2] ? `${folder}/snippet-functions.json` : list, `${JSON.stringify(known)}\n`);
}

await mkdir(folder, { recursive: true });
await bundle('snippet.ts', 'snippet.js');
await bundle('snippet.ts', 'full.js', { isFull: true });
await listFunctions();
await bundle('index.ts', 'index.mjs', { isModule: true });
await bundle('index.ts', 'full.mjs', { isFull: true, isModule: true });
await bundle('index.ts', 'bare.mjs', { isBare: true, isModule: true });
await build({
  ...SIMPLE,
  entryPoints: [fileURLToPath(new URL('src/stub.ts', here))],
  outfile: `${folder}/stub.js`,
  minify: true,
  format: 'iife',
  target: 'es2017',
});
