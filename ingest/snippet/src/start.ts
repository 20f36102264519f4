/** Decides whether this page is recorded at all, and says why not. Nothing here may ever break or delay the page. */

import { counted } from './cost';
import { compareHeader } from './experiment';
import { drop, header, isOn, log, miss, now, readPage, settings } from './page';
import type { Api, Call, Command } from './profiler';
import { fail, on, pause, record, setPage, setTags, setTrace, unpause } from './recorder';

declare const BARE: boolean;
declare const FULL: boolean;

const LOCAL = /^127\.|^\[::1]|\blocalhost$/;

const COMMANDS = { start: unpause, stop: pause, tags: setTags, page: setPage, ...(BARE ? {} : { trace: setTrace }) };

/** Returns why the site or the person does not want this page recorded. Nothing of it is told to the server. */
const findVeto = (): string | boolean | undefined => (settings.off && 'off')
  || (header.on === '0' && 'header')
  || (LOCAL.test(location.hostname) && !isOn('localhost') && 'localhost')
  || (isOn('gpc') && navigator.globalPrivacyControl && 'gpc');

/** Starts the recording of a page. The arguments, whose values the minifier would move, are those of `readPage`. */
export const start = (...words: Parameters<typeof readPage>): void => {
  const stub = window.fieldflame ?? ({} as Partial<Api>);
  let early = stub.p;
  let isAllowed = false;
  /** Marks from before are not sent. Below 0: nothing is recorded yet, without consent. */
  let from = 0;
  /** Calls that came before the recording: before consent, or while the page is prerendered. */
  let pending: Call[] | undefined = [];
  const begin = counted(() => {
    if (pending && (BARE || (isAllowed && from >= 0)) && !document.prerendering) {
      const calls = pending;
      pending = undefined;
      record(early, from);
      calls.forEach((words) => call(...words));
    }
  });
  const call: Api = counted((command: Command, value?: unknown) => {
    if (!BARE && command === 'consent') {
      from = now();
      begin();
    } else if (pending) {
      pending.push([command, value]);
    } else {
      COMMANDS[command as 'page'](value);
    }
  });
  try {
    readPage(...words);
    if (stub.core) {
      miss('twice');
      return;
    }
    call.core = true;
    window.fieldflame = call;
    if (!BARE) {
      const veto = settings.key ? (settings.release ? findVeto() : 'release') : 'key';
      if (FULL && (!veto || veto === 'header') && !isOn('consent')) {
        compareHeader();
      }
      if (veto) {
        throw veto;
      }
    }
    if (!window.Profiler?.prototype) {
      miss('no-api');
    } else if (stub.e) {
      fail(stub.e);
    } else {
      isAllowed = true;
      if (!BARE && isOn('consent')) {
        from = -1;
        early = drop(early);
        on('pagehide', () => from < 0 && miss('consent'));
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
