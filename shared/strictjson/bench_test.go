package strictjson_test

import (
	"fmt"
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/strictjson"
)

func sendBody(size int) []byte {
	const head = `{"to":"bob","id":"msg_0198a3f2c4d07abc8def0123456789ab","conversation_id":"task-42","text":"%s",` +
		`"data":{"artifact":"s2://agent-chat/artifacts/result-7","priority":2,"lines":[%s1]},"metadata":{"trace_id":"abc123"}}`
	unit := `"naïve \"quoted\" line",`
	n := max(0, size-len(head)) / 2
	return fmt.Appendf(nil, head, strings.Repeat("The build failed. ", n/18), strings.Repeat(unit, n/len(unit)))
}

func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 512 << 10} {
		body := sendBody(size)
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := strictjson.Decode(body, new(api.SendRequest)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1 << 10, 512 << 10} {
		var r api.SendRequest
		if err := strictjson.Decode(sendBody(size), &r); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			buf := make([]byte, 0, size+1024)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := strictjson.Append(buf, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
