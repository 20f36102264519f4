// Bundles src/: the classic script, the inline stub, and the package for people's own bundles. The output is
// committed, since a user's machine has no Node; a test rebuilds it and compares.
// Usage: node build.mjs [FOLDER]
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = new URL('.', import.meta.url);
const folder = process.argv[2] ?? fileURLToPath(new URL('dist', here));
const banner = { js: '/* Fieldflame snippet, Apache-2.0 */' };

/** `isBare` leaves out all marks but long tasks; only its size is of interest. */
async function bundle(source, target, { isBare = false, ...options } = {}) {
  await build({
    entryPoints: [fileURLToPath(new URL(`src/${source}`, here))],
    outfile: `${folder}/${target}`,
    bundle: true,
    minify: true,
    format: 'iife',
    // Old enough that a browser without the API parses the file without an error; every browser with it is far newer.
    target: 'es2017',
    charset: 'ascii', // the including page may declare any encoding
    banner,
    define: { BARE: String(isBare) },
    legalComments: 'none',
    mangleProps: /^(isDrawn|navigation_|spent|told|flight|tries|bytes)$/,
    ...options,
  });
}

await bundle('snippet.ts', 'snippet.js');
await bundle('snippet.ts', 'bare.js', { isBare: true });
await bundle('stub.ts', 'stub.js', { banner: {} });
await bundle('index.ts', 'index.mjs', { format: 'esm' });
