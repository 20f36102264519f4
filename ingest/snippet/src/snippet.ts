/** The classic script: settings from its own element, from `fieldflameSettings`, and from the server that sent it. */

import { drop, log } from './page';
import { start } from './start';

// A module has no `currentScript`, and an inlined copy no `src`. Both may have attributes.
const script = (document.currentScript || document.querySelector('script[data-key]')) as HTMLScriptElement | null;
try {
  const options = Object.assign({}, script && script.dataset, window.fieldflameSettings);
  start(options, script ? script.src : '', 'FIELDFLAME_SETTINGS');
} catch (error) {
  log(`no trace, ${error}`);
  drop(window.fieldflame && window.fieldflame.p);
}
