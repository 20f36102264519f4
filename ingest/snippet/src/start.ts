/** Decides whether this page is recorded at all, and says why not. Nothing here may ever break or delay the page. */

import { counted } from './cost';
import { drop, header, isOn, log, miss, readPage, settings } from './page';
import type { Api, Call, Command } from './profiler';
import { fail, on, pause, record, setPage, setTags, unpause } from './recorder';

declare const BARE: boolean;

const LOCAL = /^127\.|^\[::1\]$|(^|\.)localhost$/;

const COMMANDS = { page: setPage, tags: setTags, stop: pause, start: unpause };

/** Returns why the site or the person does not want this page recorded. Nothing of it is told to the server. */
const findVeto = (): string | boolean | undefined => (settings.off && 'off')
  || (header.on === '0' && 'header')
  || (LOCAL.test(location.hostname) && !isOn('localhost') && 'localhost')
  || (isOn('gpc') && navigator.globalPrivacyControl && 'gpc');

/** Starts the recording of a page. The arguments are those of `readPage`. */
export const start = (...[options, ...from]: Parameters<typeof readPage>): void => {
  const stub = window.fieldflame ?? ({} as Partial<Api>);
  let early = stub.p;
  let isAllowed = false;
  let hasConsent = true;
  /** Calls that came before the recording: before consent, or while the page is prerendered. */
  let pending: Call[] | undefined = [];
  const begin = counted(() => {
    if (pending && isAllowed && (BARE || hasConsent) && !document.prerendering) {
      const calls = pending;
      pending = undefined;
      record(early, !BARE && isOn('consent') ? performance.now() : 0);
      calls.forEach((words) => call(...words));
    }
  });
  const call: Api = counted((command: Command, value?: unknown) => {
    if (!BARE && command === 'consent') {
      hasConsent = true;
      begin();
    } else if (pending) {
      pending.push([command, value]);
    } else {
      COMMANDS[command as 'page'](value);
    }
  });
  try {
    readPage(options, ...from);
    if (stub.core) {
      miss('twice');
      return;
    }
    call.core = true;
    window.fieldflame = call;
    if (!BARE) {
      hasConsent = !isOn('consent');
      const veto = options.key && settings.release ? findVeto() : 'no key or no release';
      if (veto) {
        throw veto;
      }
    }
    if (typeof window.Profiler !== 'function') {
      miss('no-api');
    } else if (stub.e) {
      fail(stub.e);
    } else {
      isAllowed = true;
      if (!BARE && !hasConsent) {
        drop(early);
        early = undefined;
        on('pagehide', () => hasConsent || miss('consent'));
      }
      on('prerenderingchange', begin);
      begin();
    }
    stub.q?.forEach((words) => call(...words));
  } catch (error) {
    log(`no trace, ${error}`);
    drop(early);
  }
};
