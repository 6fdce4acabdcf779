// Verifies records.json with code that shares nothing with ours:   node verify.mjs node|webcrypto|jose records.json
import crypto from 'node:crypto';
import fs from 'node:fs';

const [impl, file] = process.argv.slice(2);
const jose = impl === 'jose' ? await import(process.env.JOSE ?? 'jose') : null;
const set = JSON.parse(fs.readFileSync(file, 'utf8'));

const agent = /^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$/, chat = /^chat_[0-9a-f]{32}$/, generation = /^[0-9a-f]{16}$/;
const derived = (prefix, n) => new RegExp(`^${prefix}_[A-Za-z0-9_-]{${n}}$`);
const operation = derived('op', 43), owner = derived('f', 32), batch = derived('b', 43);
const time = s => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(s) && !isNaN(Date.parse(s)) && new Date(s).toISOString() === s;
const position = s => typeof s === 'string' && /^(0|[1-9]\d{0,19})$/.test(s) && BigInt(s) < 2n ** 64n;
const text = s => typeof s === 'string';
const unpadded = (s, n) => { const b = Buffer.from(s, 'base64url'); return b.length === n && b.toString('base64url') === s; };
const is = re => s => text(s) && re.test(s);

// What each kind of record holds, in its order; a member in square brackets may be missing.
const kinds = {
  genesis: ['chat.genesis', { generation: is(generation), peerAgentId: is(agent) }],
  message: ['chat.message', {
    chatId: is(chat), fromAgentId: is(agent), toAgentId: is(agent), clientMessageId: s => text(s) && s.startsWith('cmid_') && unpadded(s.slice(5), 32),
    content: s => text(s) && s.isWellFormed(), contentSha256: text, signature: { kid: text, alg: text, value: text, createdAt: time },
  }],
  receipt: ['chat.receipt', { peerStreamId: text, peerGeneration: is(generation), nextPosition: position, batchId: is(batch) }],
  fence: ['chat.writer_fence', { owner: is(owner), '[previousOwner]': is(owner), reviewedTail: position, generation: is(generation) }],
};
const wrapper = {
  protocol: s => s === 'yello.chat.message.v1', version: n => n === 2, chatId: is(chat), authorAgentId: is(agent), operationId: is(operation),
  recordIndex: n => Number.isInteger(n) && n >= 0 && n < 1000, type: text, authoredWith: s => s === 'agent_key' || s === 'fleet',
};

// shaped says whether v has exactly these members, in this order, each as it must be.
function shaped(v, shape) {
  if (typeof shape === 'function') return shape(v);
  if (v === null || typeof v !== 'object' || Array.isArray(v)) return false;
  const names = Object.keys(v);
  for (let [name, rule] of Object.entries(shape)) {
    if (name[0] === '[') { name = name.slice(1, -1); if (names[0] !== name) continue; }
    if (names.shift() !== name || !shaped(v[name], rule)) return false;
  }
  return names.length === 0;
}

// check returns why a record is refused, or ''. A record has one form: that of JSON.stringify.
async function check({ record, stored, payload }) {
  let r;
  try { r = JSON.parse(record); } catch { return 'malformed'; }
  const kind = r && Object.keys(kinds).find(k => r[k] !== undefined);
  if (!kind || !shaped(r, { ...wrapper, [kind]: kinds[kind][1] }) || r.type !== kinds[kind][0] || JSON.stringify(r) !== record) return 'malformed';
  const own = `chats/${r.chatId}/`, { genesis, receipt, message: m } = r;
  if (genesis) return genesis.peerAgentId === r.authorAgentId ? 'mismatch' : '';
  if (receipt) {
    const peer = receipt.peerStreamId.slice(own.length);
    return receipt.peerStreamId.startsWith(own) && agent.test(peer) && peer !== r.authorAgentId ? '' : 'mismatch';
  }
  if (!m) return '';
  if (m.chatId !== r.chatId || m.fromAgentId !== r.authorAgentId || m.toAgentId === m.fromAgentId) return 'mismatch';
  const signed = ['yello.chat.message.v1', m.chatId, m.fromAgentId, m.toAgentId, m.signature.createdAt, m.contentSha256];
  if (signed.some(s => /\p{Cc}/u.test(s))) return 'control_character';
  if (payload !== undefined && payload !== signed.join('\n')) return 'another payload';
  if (crypto.createHash('sha256').update(m.content, 'utf8').digest('base64url') !== m.contentSha256) return 'wrong_hash';
  const { kid, alg, value, createdAt } = m.signature, key = set.keys.keys.find(k => k.kid === kid), at = Date.parse(createdAt);
  if (alg !== 'ES256') return 'wrong_algorithm';
  if (!key) return 'unknown_key';
  if (key.alg !== 'ES256' || key.kty !== 'EC') return 'wrong_algorithm';
  if (key.revoked) return 'revoked_key';
  if (key.nbf * 1000 > at || key.exp * 1000 < at) return 'key_time';
  if (!unpadded(value, 64)) return 'signature_form';
  if (!await verify(key, Buffer.from(signed.join('\n')), Buffer.from(value, 'base64url'))) return 'wrong_signature';
  return stored && Math.abs(Date.parse(stored) - at) > 5 * 60 * 1000 ? 'store_time' : '';
}

async function verify(jwk, data, sig) {
  switch (impl) {
    case 'node':
      return crypto.verify('sha256', data, { key: crypto.createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' }, sig);
    case 'webcrypto': {
      const key = await crypto.subtle.importKey('jwk', jwk, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['verify']);
      return crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, sig, data);
    }
    case 'jose': { // chooses the key out of the set by kid and alg, as it does for a JWS
      const key = await jose.createLocalJWKSet(set.keys)({ kid: jwk.kid, alg: 'ES256' });
      return await jose.calculateJwkThumbprint(jwk) === jwk.kid && crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, sig, data);
    }
  }
  throw new Error(`no implementation ${impl}`);
}

// id derives an id as README.md says.
function id({ lines, fields, key, id }) {
  const frame = fields && Buffer.concat(fields.flatMap(f => { const b = Buffer.from(f), n = Buffer.alloc(4); n.writeUInt32BE(b.length); return [n, b]; }));
  const hash = key === undefined ? crypto.createHash('sha256') : crypto.createHmac('sha256', key);
  return (id.slice(0, id.indexOf('_') + 1) + hash.update(frame ?? lines.join('\n')).digest('base64url')).slice(0, id.length);
}

let wrong = 0;
const expect = (name, got, want) => { if (got !== want) { wrong++; console.log(`${name}: ${JSON.stringify(got)}; want ${JSON.stringify(want)}`); } };
for (const v of set.vectors) expect(v.name, await check(v), v.reason ?? '');
for (const v of set.derived) expect(v.name, id(v), v.id);
console.log(`${impl}: ${set.vectors.length} records and ${set.derived.length} ids, ${wrong} wrong`);
process.exit(wrong ? 1 : 0);
