package event_test

import (
	"fmt"
	"strings"
	"testing"

	"agentchat/shared/event"
	"agentchat/shared/stream"
)

type body struct {
	event.Head
	Name string `json:"name,omitempty"`
}

// A package whose events are the records of a stream needs a body and a schema.
func Example() {
	const schema = "agent-chat/pet.v1"
	records, err := event.Record(schema, "pet.named", &body{Name: "Rex"})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(records[0].Body))

	var read body
	err = event.Read(stream.Entry{Record: records[0]}, schema, &read)
	fmt.Println(read.Kind, read.Name, err)
	// Output:
	// {"schema":"agent-chat/pet.v1","kind":"pet.named","name":"Rex"}
	// pet.named Rex <nil>
}

// The headers are those of the form, in its order, and then the caller's.
func TestHeaders(t *testing.T) {
	for _, c := range []struct{ kind, want string }{
		{"", "content-type=application/json agent-chat-schema=s.v1 x=y"},
		{"k", "content-type=application/json agent-chat-schema=s.v1 agent-chat-kind=k x=y"},
	} {
		var got []string
		for _, h := range event.JSON("s.v1", c.kind, []byte("{}"), stream.Header{Name: "x", Value: "y"}).Headers {
			got = append(got, h.Name+"="+h.Value)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("headers of kind %q are %s; want %s", c.kind, s, c.want)
		}
	}
}

// What is no event of the schema is refused, with its position.
func TestReadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"not JSON":       "x",
		"null":           "null",
		"another schema": `{"schema":"s.v2","kind":"k"}`,
		"a member twice": `{"schema":"s.v1","kind":"k","kind":"k"}`,
	} {
		t.Run(name, func(t *testing.T) {
			err := event.Read(stream.Entry{Seq: 7, Record: stream.Record{Body: []byte(text)}}, "s.v1", new(body))
			if err == nil || !strings.Contains(err.Error(), "at 7") {
				t.Errorf("Read(%s): %v; want an error that names position 7", text, err)
			}
		})
	}
}
