package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"agentchat/shared/ident"
)

// minToken is the fewest characters of an API or admin token.
const minToken = 16

const (
	tokenChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~+/=-"
	keyPrefix  = "ak_"
	keySecret  = 43 // base64url characters of 32 bytes
)

// ParseTokens splits a comma-separated token list; it never returns an empty or
// blank token. White space around an element does not count. No error repeats
// what was in the list.
func ParseTokens(list string) ([]string, error) {
	var tokens []string
	for t := range strings.SplitSeq(list, ",") {
		t = strings.TrimSpace(t)
		if err := checkToken(t); err != nil {
			return nil, fmt.Errorf("element %d: %w", len(tokens)+1, err)
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}

func checkToken(t string) error {
	switch {
	case strings.TrimSpace(t) == "":
		return errors.New("a blank token")
	case len(t) < minToken:
		return fmt.Errorf("a token of %d characters; it needs %d or more", len(t), minToken)
	case strings.Trim(t, tokenChars) != "":
		return errors.New("a token with a character other than A-Z a-z 0-9 . _ ~ + / = -")
	case strings.HasPrefix(t, keyPrefix):
		return errors.New("a token that begins with " + keyPrefix + ", as agent keys do")
	}
	return nil
}

// NewKey returns an agent key: the secret, shown once, and what is kept of it.
func NewKey(owner ident.Agent, id ident.Key, secret [32]byte) (key string, hash [32]byte, lastFour string) {
	key = keyPrefix + string(owner) + "~" + string(id) + "~" + base64.RawURLEncoding.EncodeToString(secret[:])
	return key, sha256.Sum256([]byte(key)), key[len(key)-4:]
}

// parseKey returns whose key a credential says that it is. The secret is not
// decoded: the hash is over the characters, so there is one form of each key.
func parseKey(token string) (owner ident.Agent, id ident.Key, ok bool) {
	rest, ok := strings.CutPrefix(token, keyPrefix)
	if !ok {
		return "", "", false
	}
	parts := strings.Split(rest, "~")
	if len(parts) != 3 || len(parts[2]) != keySecret {
		return "", "", false
	}
	owner, err := ident.ParseAgent(parts[0])
	if err != nil {
		return "", "", false
	}
	id, err = ident.ParseKey(parts[1])
	return owner, id, err == nil
}
