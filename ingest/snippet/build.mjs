// Bundles src/: the classic script, the inline stub, and the packages for people's own bundles. The output is
// committed, since a user's machine has no Node; a test rebuilds it and compares.
// Usage: node build.mjs [FOLDER]
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { minify } from 'terser';

const here = new URL('.', import.meta.url);
const folder = process.argv[2] ?? fileURLToPath(new URL('dist', here));
const ES_VERSION = 2020; // docs/adr/0001-recording-in-chunks.md says why
// What bundles and minifies in one step. The stub stays as it is, since pages allow it by its hash.
const SIMPLE = { bundle: true, charset: 'ascii', legalComments: 'none' };

/** Returns the options of terser, which makes files 0.2 kB smaller (gzipped) than esbuild's own minifier. */
function optionsOf(isBare) {
  return {
    ecma: ES_VERSION,
    module: true, // so that names of the top level are shortened too
    compress: {
      passes: 4,
      hoist_funs: true,
      keep_fargs: false, // nobody asks for the length of our functions
      pure_getters: true, // none that we read does anything
      unsafe_arrows: true, // no function of ours is constructed
      pure_funcs: isBare ? ['log', 'miss'] : [], // the bare core tells nobody
    },
    // Own names of properties end with an underscore. Neither the browser's do, nor those of the envelope.
    mangle: { properties: { regex: /_$/ } },
    format: { ascii_only: true }, // the including page may declare any encoding
  };
}

/** `isBare` leaves out what docs/snippet.md lists under "The bare core". */
async function bundle(source, target, { isBare = false, isModule = false } = {}) {
  const { outputFiles } = await build({
    ...SIMPLE,
    entryPoints: [fileURLToPath(new URL(`src/${source}`, here))],
    write: false,
    format: 'esm',
    target: `es${ES_VERSION}`,
    define: { BARE: String(isBare) },
  });
  const { code } = await minify(outputFiles[0].text, optionsOf(isBare));
  await writeFile(`${folder}/${target}`, isModule ? `${code}\n` : `(()=>{${code.replace(/;$/, '')}})();\n`);
}

await mkdir(folder, { recursive: true });
await bundle('snippet.ts', 'snippet.js');
await bundle('index.ts', 'index.mjs', { isModule: true });
await bundle('index.ts', 'bare.mjs', { isBare: true, isModule: true });
await build({
  ...SIMPLE,
  entryPoints: [fileURLToPath(new URL('src/stub.ts', here))],
  outfile: `${folder}/stub.js`,
  minify: true,
  format: 'iife',
  target: 'es2017',
});
