package ident_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agentchat/shared/ident"
)

// An identifier is checked where it comes in, and from then on its type says so.
func ExampleAgent_UnmarshalText() {
	var body struct {
		To ident.Agent `json:"to"`
	}
	fmt.Println(json.Unmarshal([]byte(`{"to":"bob"}`), &body), body.To)
	fmt.Println(json.Unmarshal([]byte(`{"to":"Bob\n"}`), &body))
	// Output:
	// <nil> bob
	// malformed identifier: an agent id is 1-64 lower-case letters, digits, '.', '_' or '-', beginning and ending with a letter or digit
}

func ExampleNewMessage() {
	now := time.Date(2026, 7, 19, 12, 0, 0, 0, time.UTC)
	id := ident.NewMessage(now, strings.NewReader("not random bytes"))
	made, ok := id.Time()
	fmt.Println(id)
	fmt.Println(made, ok)
	// Output:
	// msg_019f7a3f5a007e64af6d206279746573
	// 2026-07-19 12:00:00 +0000 UTC true
}
