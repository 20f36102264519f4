// Bundles src/ into one classic script. The output is committed, since a user's machine has no Node; a test rebuilds
// it and compares.
// Usage: node build.mjs [OUTFILE]
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = new URL('.', import.meta.url);

await build({
  entryPoints: [fileURLToPath(new URL('src/snippet.ts', here))],
  outfile: process.argv[2] ?? fileURLToPath(new URL('dist/snippet.js', here)),
  bundle: true,
  minify: true,
  format: 'iife',
  // Old enough that a browser without the API parses the file without an error; every browser with it is far newer.
  target: 'es2017',
  charset: 'ascii', // the including page may declare any encoding
  banner: { js: '/* Fieldflame snippet, Apache-2.0 */' },
  legalComments: 'none',
});
