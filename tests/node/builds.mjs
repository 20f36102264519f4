/** Builds a site with a bundler and the plugin of Sentry that uploads its source maps: BUNDLER SOURCE TARGET SERVER TOKEN. */

import { sentryEsbuildPlugin } from '@sentry/esbuild-plugin';
import { sentryVitePlugin } from '@sentry/vite-plugin';
import * as esbuild from 'esbuild';
import { build } from 'vite';

const [bundler, source, target, url, authToken] = process.argv.slice(2);
const options = {
  authToken, url, org: 'any', project: 'shop', release: { name: '1.4.0' }, telemetry: false,
  errorHandler: (error) => { throw error; },
};

if (bundler === 'esbuild') {
  await esbuild.build({
    entryPoints: [`${source}/main.js`], bundle: true, minify: true, sourcemap: true, outdir: `${target}/assets`,
    logLevel: 'error', plugins: [sentryEsbuildPlugin(options)],
  });
} else {
  await build({
    root: source, logLevel: 'error', plugins: [sentryVitePlugin(options)],
    build: { outDir: target, emptyOutDir: true, sourcemap: true, modulePreload: false },
  });
}
