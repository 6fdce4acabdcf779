package stream_test

import (
	"fmt"

	"agentchat/shared/stream"
)

// A fence is a record like any other: it can stand behind what is written under
// the new token, and be conditional on the old one.
func ExampleFence() {
	former := ""
	b := stream.Batch{Records: []stream.Record{stream.Fence("epoch-1")}, Token: &former}
	fmt.Println(b.Validate(), b.Records[0].Command() == stream.FenceCommand)
	// Output: <nil> true
}

// What S2 counts is more than the body, so a text that is within its own limit
// can be over the record's.
func ExampleRecord_Metered() {
	r := stream.Record{Headers: []stream.Header{{Name: "agent-chat-from", Value: "alice"}}, Body: []byte("hello")}
	fmt.Println(r.Metered())
	// Output: 35
}

func ExampleAgentOf() {
	for _, listed := range []string{"inbox/bob", "inbox/No Agent"} {
		name, _ := stream.Inboxes.Name(listed)
		agent, ok := stream.AgentOf(name)
		fmt.Printf("%q %v\n", agent, ok)
	}
	// Output:
	// "bob" true
	// "" false
}
