#!/usr/bin/env bash
# peers.sh NAME...: starts each named server on loopback, measures it once, stops it by
# its own pid. Data under $DATA is removed before and after. A server that is not
# installed is named and left out.
set -u
cd "$(dirname "$0")"
here=$PWD
DATA=${DATA:-${TMPDIR:-/tmp}/agent-chat-bench}
ARGS=${ARGS:--runs 1 -d 1500ms}
WHAT=${WHAT:-}
PG=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
export BENCH_TOKEN=bench-bench-bench-bench BENCH_ADMIN_TOKEN=audit-audit-audit-audit
PID=

up() {
	for _ in $(seq 200); do
		(exec 3<>/dev/tcp/127.0.0.1/"$1") 2>/dev/null && return 0
		sleep 0.05
	done
	echo "port $1 did not open" >&2
	return 1
}
stop() {
	[ -n "$PID" ] && kill -"${1:-TERM}" "$PID" 2>/dev/null && wait "$PID" 2>/dev/null
	PID=
}
trap stop EXIT
serve() { # where the store is
	AGENT_CHAT_API_TOKEN=$BENCH_TOKEN AGENT_CHAT_ADMIN_TOKEN=$BENCH_ADMIN_TOKEN bin/agent-chat serve --listen 127.0.0.1:19800 "$@" >/dev/null 2>"$d.log" &
	PID=$!
}
one() { # label peer port disciplines [more flags]
	up "$3" && timeout 300 bin/peers -peer "$2" -label "$1" -addr 127.0.0.1:"$3" -pid "$PID" -what "${WHAT:-$4}" $ARGS ${5:-}
	[ "$PID" = 0 ] || awk -v l="$1" '/VmHWM/{printf "%-18s peak memory: %.1f MiB\n", l, $2/1024}' "/proc/$PID/status"
}

for name in "$@"; do
	d=$DATA/$name
	rm -rf "$d"
	mkdir -p "$d"
	case $name in
	product)
		serve --data "$d"
		one "$name" product 19800 pub,idle,live,many,replay "-clients 1,16,64,256"
		;;
	calls-*) # the store behind its S2 API, and a counter before it
		token=bench-store-bench-store
		AGENT_CHAT_S2_TOKEN=$token bin/agent-chat s2 --memory --listen 127.0.0.1:19811 >/dev/null 2>&1 &
		store=$!
		bin/counter -listen 127.0.0.1:19812 -to http://127.0.0.1:19811 &
		counter=$!
		up 19812 && up 19811
		AGENT_CHAT_S2_ENDPOINT=http://127.0.0.1:19812 AGENT_CHAT_S2_TOKEN=$token serve
		WHAT=scale one "$name" product 19800 scale "-inboxes ${name#calls-} -filled 20000 -counter 127.0.0.1:19812" | grep -v 'peak memory'
		stop
		kill "$counter" "$store"
		wait "$counter" "$store" 2>/dev/null
		;;
	monitor-*)
		serve --data "$d"
		WHAT=scale one "$name" product 19800 scale "-inboxes ${name#monitor-}" | grep -v 'peak memory'
		;;
	dev) # what it takes when nobody asks for anything
		(cd "$d" && exec "$here/bin/agent-chat" dev --listen 127.0.0.1:19805 >/dev/null 2>&1) &
		PID=$!
		up 19805 && sleep 5 && awk '/VmRSS/{printf "%-18s idle memory: %.1f MiB\n", "dev", $2/1024}' "/proc/$PID/status"
		;;
	ref-pebble)
		bin/durable -addr 127.0.0.1:19810 -dir "$d" &
		PID=$!
		one "$name" durable 19810 pub,idle,live,many,replay "-clients 1,16,64,256"
		;;
	nats-always)
		bin/natsd -port 19820 -dir "$d" -always=true &
		PID=$!
		one "$name" nats 19820 pub,live,replay
		;;
	mercure)
		bin/mercured -addr 127.0.0.1:19840 -path "$d/m.db" &
		PID=$!
		one "$name" mercure 19840 pub,live "-replay 20000"
		;;
	redis-always)
		command -v redis-server >/dev/null || { echo "not installed: redis-server" >&2; continue; }
		redis-server --bind 127.0.0.1 --port 19825 --dir "$d" --appendonly yes --appendfsync always --save '' \
			--daemonize no --auto-aof-rewrite-percentage 0 >/dev/null &
		PID=$!
		one "$name" redis-lean 19825 pub,live,many,replay
		;;
	pg)
		[ -n "$PG" ] || { echo "not installed: postgresql" >&2; continue; }
		chown postgres "$d"
		su postgres -c "$PG/initdb -D $d/d -A trust >/dev/null"
		setpriv --reuid=postgres --regid=postgres --init-groups "$PG/postgres" -D "$d/d" -p 19827 -h 127.0.0.1 -k "$d" \
			-c synchronous_commit=on -c max_connections=200 -c shared_buffers=512MB -c max_wal_size=4GB >/dev/null 2>&1 &
		PID=$!
		for _ in $(seq 300); do "$PG/pg_isready" -q -h 127.0.0.1 -p 19827 && break; sleep 0.1; done
		own=$PID
		PID=0 # its work is done by children, whose CPU is not counted
		one "$name" pg 19827 pub,replay
		PID=$own
		stop INT
		;;
	*) echo "unknown server $name" >&2 ;;
	esac
	stop
	rm -rf "$d"
done
