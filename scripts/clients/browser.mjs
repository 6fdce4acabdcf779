// Follows the inbox and the monitor in Chromium: with the browser's own EventSource, and
// with fetch and a reader of a few lines. Environment and output are those of follow.mjs,
// with the client's name besides. EventSource can't send a credential; the browser is
// told to add it to what a page asks for.
import { chromium } from 'playwright-core';

const out = line => process.stdout.write(JSON.stringify(line) + '\n');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'], handleSIGTERM: false });
process.on('SIGTERM', () => browser.close().finally(() => process.exit(0)));

const native = ([stream, url]) => {
  const es = new EventSource(url);
  es.addEventListener('envelope', e => report({ stream, id: e.lastEventId, data: e.data }));
  es.addEventListener('open', () => report({ stream, open: true }));
  es.addEventListener('error', () => es.readyState === EventSource.CLOSED && report({ stream, gone: 'closed for good' }));
};

const byFetch = async ([stream, url]) => {
  let last = '', wait = 1000;
  const once = async () => {
    const res = await fetch(url, { headers: { accept: 'text/event-stream', ...(last && { 'last-event-id': last }) }, cache: 'no-store' });
    if (res.status !== 200) return report({ stream, gone: `status ${res.status}` });
    report({ stream, open: true });
    let rest = '', event = {};
    for (const reader = res.body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (line === '') {
          if (event.id !== undefined) last = event.id;
          if (event.event === 'envelope') report({ stream, id: last, data: event.data });
          event = {};
          continue;
        }
        const [, name, text] = /^([^:]*):? ?(.*)$/.exec(line);
        if (name === 'retry') wait = +text;
        else if (name) event[name] = text;
      }
    }
  };
  for (;;) {
    await once().catch(() => {});
    await new Promise(r => setTimeout(r, wait));
  }
};

for (const [name, follow] of [['chromium EventSource', native], ['chromium fetch', byFetch]]) {
  for (const [stream, url, token] of [['inbox', process.env.INBOX, process.env.TOKEN], ['monitor', process.env.MONITOR, process.env.ADMIN]]) {
    const context = await browser.newContext({ extraHTTPHeaders: { authorization: `Bearer ${token}` } });
    const page = await context.newPage();
    await page.exposeFunction('report', line => out({ client: name, ...line }));
    await page.goto(new URL('/healthz', url).href); // a page of the same origin
    page.evaluate(follow, [stream, url]).catch(() => {}); // it ends with the browser
  }
}
