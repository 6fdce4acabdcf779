// Drives the embedded store with the npm SDK, by each of its transports: HTTP/2
// sessions (s2s), and fetch, which reads by server-sent events.
//
//   node roundtrip.mjs URL TOKEN
//
// It prints one line a transport and ends with 1 on the first thing that is wrong.
import assert from "node:assert/strict";
import {
	AppendInput,
	AppendRecord,
	RangeNotSatisfiableError,
	S2,
	SeqNumMismatchError,
} from "@s2-dev/streamstore";

const [url, accessToken] = process.argv.slice(2);
const s2 = new S2({ accessToken, endpoints: { account: url, basin: url } });
const basinName = "npm-sdk-roundtrip";
await s2.basins.create({ basin: basinName });
const basin = s2.basin(basinName);

for (const forceTransport of ["s2s", "fetch"]) {
	const name = `inbox/bob ${forceTransport} ü`;
	await basin.streams.create({ stream: name });
	const stream = basin.stream(name, { forceTransport });

	// In one piece: as strings (JSON), as bytes (protobuf).
	const ack = await stream.append(
		AppendInput.create([
			AppendRecord.string({ body: "one \u2028 \u{1f600}", headers: [["kind", "text"]] }),
		]),
	);
	assert.equal(ack.end.seqNum, 1);
	const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
	await stream.append(
		AppendInput.create([AppendRecord.bytes({ body: bytes, headers: [[bytes, bytes]] })], {
			matchSeqNum: 1,
		}),
	);
	const from = (seqNum) => ({ from: { seqNum } });
	const text = await stream.read({ start: from(0), stop: { limits: { count: 1 } } });
	assert.equal(text.records[0].body, "one \u2028 \u{1f600}");
	assert.deepEqual(text.records[0].headers, [["kind", "text"]]);
	const raw = await stream.read({ start: from(1) }, { as: "bytes" });
	assert.deepEqual(raw.records[0].body, bytes);
	assert.deepEqual(raw.records[0].headers, [[bytes, bytes]]);
	assert.equal((await stream.checkTail()).tail.seqNum, 2);

	// What is refused is refused as the SDK knows it.
	await assert.rejects(
		stream.append(AppendInput.create([AppendRecord.string({ body: "no" })], { matchSeqNum: 7 })),
		(e) => e instanceof SeqNumMismatchError && e.expectedSeqNum === 2,
	);
	await assert.rejects(
		stream.read({ start: from(9) }),
		(e) => e instanceof RangeNotSatisfiableError && e.tail.seqNum === 2,
	);

	// Sessions: 50 appends in order, while a reader follows them live.
	const reading = (async () => {
		const session = await stream.readSession({ start: from(2) }, { as: "bytes" });
		const got = [];
		for await (const record of session) {
			got.push(new TextDecoder().decode(record.body));
			if (got.length === 50) break;
		}
		return got;
	})();
	const session = await stream.appendSession();
	const want = [];
	for (let i = 0; i < 50; i++) {
		want.push(`${forceTransport} ${i}`);
		const ticket = await session.submit(AppendInput.create([AppendRecord.string({ body: want[i] })]));
		if (i === 49) await ticket.ack();
	}
	await session.close();
	assert.deepEqual(await reading, want);
	assert.equal((await stream.checkTail()).tail.seqNum, 52);

	// A session that ends by itself.
	let count = 0;
	for await (const record of await stream.readSession({ start: from(0), stop: { limits: { count: 10 } } })) {
		assert.equal(record.seqNum, count++);
	}
	assert.equal(count, 10);
	console.log(`${forceTransport} ok`);
	await stream.close();
}
process.exit(0);
