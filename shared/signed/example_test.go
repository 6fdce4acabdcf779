package signed_test

import (
	"fmt"
	"strings"
	"time"

	"agentchat/shared/ident"
	"agentchat/shared/signed"
)

// A message is signed with the key that signs now, and verified by anybody with
// the published keys.
func Example() {
	now := time.Date(2026, 7, 19, 12, 0, 0, 0, time.UTC)
	keys, err := signed.NewSet(now)
	if err != nil {
		fmt.Println(err)
		return
	}
	key, err := keys.Signer(signed.ES256, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	const chat = ident.Chat("chat_0123456789abcdef0123456789abcdef")
	m, err := signed.Sign(key, signed.Draft{ChatID: chat, From: "alice", To: "bob", MessageID: "m1", Content: "hello", CreatedAt: now})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := signed.Record{ChatID: chat, AuthorAgentID: "alice", OperationID: signed.MessageOperation(chat, "alice", "m1"), AuthoredWith: signed.AgentKey, Message: m}
	stored, err := r.Encode()
	if err != nil {
		fmt.Println(err)
		return
	}

	published, err := signed.ParseSet(keys.Public())
	if err != nil {
		fmt.Println(err)
		return
	}
	got, err := signed.Open(published, stored.Body, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(got.Type(), got.Message.Content)

	_, err = signed.Open(published, []byte(strings.Replace(string(stored.Body), "hello", "hellO", 1)), now)
	fmt.Println(err)
	// Output:
	// chat.message hello
	// wrong_hash: contentSha256 is not the hash of the content
}
