// Follows the inbox and the monitor with a client library of npm, as its readme says:
//   node follow.mjs eventsource|eventsource-client|fetch-event-source
// The environment has INBOX, MONITOR, TOKEN and ADMIN. Each event is a line of JSON on
// standard output: the stream, the id, the data; so is a library that gives up.
const lib = process.argv[2];
const out = line => process.stdout.write(JSON.stringify(line) + '\n');
const streams = [['inbox', process.env.INBOX, process.env.TOKEN], ['monitor', process.env.MONITOR, process.env.ADMIN]];

const follow = {
  async eventsource(stream, url, token) {
    const { EventSource } = await import('eventsource');
    const es = new EventSource(url, {
      fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } }),
    });
    es.addEventListener('envelope', e => out({ stream, id: e.lastEventId, data: e.data }));
    es.addEventListener('open', () => out({ stream, open: true }));
    es.addEventListener('error', e => es.readyState === EventSource.CLOSED && out({ stream, gone: `${e.code} ${e.message}` }));
  },
  async 'eventsource-client'(stream, url, token) {
    const { createEventSource } = await import('eventsource-client');
    createEventSource({
      url,
      headers: { authorization: `Bearer ${token}` },
      onMessage: ({ id, event, data }) => event === 'envelope' && out({ stream, id, data }),
      onConnect: () => out({ stream, open: true }),
    });
  },
  async 'fetch-event-source'(stream, url, token) {
    // It is made for browsers: it listens for whether its page is seen.
    globalThis.document ??= { hidden: false, addEventListener() {}, removeEventListener() {} };
    globalThis.window ??= { setTimeout, clearTimeout, fetch };
    const { fetchEventSource } = await import('@microsoft/fetch-event-source');
    fetchEventSource(url, {
      headers: { authorization: `Bearer ${token}` },
      openWhenHidden: true,
      async onopen(res) {
        if (res.status !== 200) throw Object.assign(new Error(`status ${res.status}`), { fatal: true });
        out({ stream, open: true });
      },
      onmessage: ({ id, event, data }) => event === 'envelope' && out({ stream, id, data }),
      onclose() { throw new Error('the stream ended'); }, // else it stops at a clean end
      onerror(e) { if (e.fatal) throw e; },
    }).catch(e => out({ stream, gone: e.message }));
  },
}[lib];

for (const [stream, url, token] of streams) follow(stream, url, token);
