package valid_test

import (
	"regexp"
	"testing"

	"agentchat/shared/valid"
)

const traceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestTraceParent(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"example of the standard", traceParent, traceParent},
		{"not sampled", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"},
		{"unknown flags", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff"},
		{"later version", "01" + traceParent[2:], traceParent},
		{"later version with more", "cc" + traceParent[2:] + "-what-comes", traceParent},
		{"later version with a dash", "cc" + traceParent[2:] + "-", traceParent},
		{"none", "", ""},
		{"version 00 with more", traceParent + "-more", ""},
		{"version 00 with a dash", traceParent + "-", ""},
		{"later version with more, without a dash", "cc" + traceParent[2:] + "x", ""},
		{"version ff", "ff" + traceParent[2:], ""},
		{"version that is not hexadecimal", "0g" + traceParent[2:], ""},
		{"too short", traceParent[:54], ""},
		{"capitals", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", ""},
		{"trace id of zeros", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
		{"parent id of zeros", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", ""},
		{"flags that are not hexadecimal", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0.", ""},
		{"underscores", "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01", ""},
		{"last dash missing", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7001", ""},
		{"line end", traceParent + "\n", ""},
		{"space in front", " " + traceParent, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := valid.TraceParent(tt.in)
			if got != tt.want || ok != (tt.want != "") {
				t.Errorf("TraceParent(%q): %q, %v; want %q", tt.in, got, ok, tt.want)
			}
		})
	}
}

func FuzzTraceParent(f *testing.F) {
	f.Add(traceParent)
	f.Add("cc" + traceParent[2:] + "-x")
	form := regexp.MustCompile(`\A00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\z`)
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := valid.TraceParent(s)
		if !ok {
			if got != "" {
				t.Fatalf("TraceParent(%q): %q, false", s, got)
			}
			return
		}
		if again, ok := valid.TraceParent(got); !form.MatchString(got) || again != got || !ok {
			t.Fatalf("TraceParent(%q): %q, and of that %q, %v; want the form of version 00", s, got, again, ok)
		}
	})
}
