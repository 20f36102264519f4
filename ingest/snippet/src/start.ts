/** Decides whether this page is recorded at all, and says why not. Nothing here may ever break or delay the page. */

import { drop, header, isOn, log, miss, type Options, readPage, settings } from './page';
import type { Api, Call, Command } from './profiler';
import { fail, pause, record, setPage, setTags, unpause } from './recorder';

/** A bundle may call it again. Another copy of the script has a variable of its own. */
let hasStarted = false;
const LOCAL = /^(localhost|127\..*|\[::1\])$|\.localhost$/;

/** Starts the recording of a page. Throws an Error that says what is missing. The arguments are those of `readPage`. */
export function start(options: Partial<Options>, source: string, word: unknown): void {
  if (hasStarted) {
    return;
  }
  hasStarted = true;
  readPage(options, source, word);
  const stub = window.fieldflame || ({} as Partial<Api>);
  if (stub.core) {
    miss('twice');
    return;
  }
  if (!options.key || !settings.release) {
    throw new Error('key and release are required');
  }
  let hasConsent = !isOn('consent');
  let isRecording = false;
  let early = stub.p;
  const begin = (): void => {
    if (!isRecording && hasConsent && !document.prerendering) {
      isRecording = true;
      record(early, isOn('consent') ? performance.now() : 0);
      for (const words of pending.splice(0)) {
        call(...words);
      }
    }
  };
  /** Calls that came before the recording: before consent, or while the page is prerendered. */
  const pending: Call[] = [];
  const run = (command: Command, value?: unknown): void => {
    if (command === 'consent') {
      hasConsent = true;
      if (isAllowed) {
        begin();
      }
    } else if (!isRecording) {
      pending.push([command, value]);
    } else if (command === 'page') {
      setPage(`${value}`);
    } else if (command === 'tags') {
      setTags(value);
    } else if (command === 'stop') {
      pause(Infinity);
    } else {
      unpause();
    }
  };
  const call = (...words: Call): void => {
    try {
      run(...words);
    } catch (error) {
      log(`${error}`);
    }
  };
  window.fieldflame = Object.assign(call, { core: true as const });

  // Nothing of these is asked of the server: the site or the person wants it so.
  const unwanted = settings.off ? 'off'
    : header.get('on') === '0' ? 'header'
      : LOCAL.test(location.hostname) && !isOn('localhost') ? 'localhost'
        : isOn('gpc') && navigator.globalPrivacyControl ? 'gpc'
          : '';
  const hasApi = typeof window.Profiler === 'function';
  const isAllowed = !unwanted && hasApi && !stub.e;
  if (!isAllowed || !hasConsent) {
    drop(early);
    early = undefined;
  }
  if (unwanted) {
    log(`no trace, ${unwanted}`);
  } else if (!hasApi) {
    miss('no-api');
  } else if (stub.e) {
    fail(stub.e);
  } else {
    document.addEventListener('prerenderingchange', begin);
    if (!hasConsent) {
      addEventListener('pagehide', () => hasConsent || miss('consent'));
    }
    begin();
  }
  for (const words of stub.q || []) {
    call(...words);
  }
}
