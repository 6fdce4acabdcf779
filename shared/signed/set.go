package signed

import (
	"cmp"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Set is the keys of a server, or what it publishes of them: those that sign,
// those that will, those that did, and the secrets of what the server
// authenticates for itself. It is not changed once made and may be used concurrently.
type Set struct {
	keys    []*Key    // oldest first
	secrets []*secret // oldest first
}

// NewSet returns a set of one key for records, valid from the time now on, and
// one symmetric key: what a server begins with.
func NewSet(now time.Time) (*Set, error) {
	k, err := NewKey(ES256, now, now)
	if err != nil {
		return nil, err
	}
	return new(Set).With(k).WithSecret(now), nil
}

// Wait is how long a key is in the set before it signs, so that whoever keeps
// a copy of what is published has it by then.
const Wait = 15 * time.Minute

// Overlap is how long a key is valid after its successor took over: for processes
// that have not seen the successor, as one that was not started again. What they
// sign later than that does not verify.
const Overlap = 7 * 24 * time.Hour

// Key returns the key called id, revoked or not.
func (s *Set) Key(id string) (*Key, bool) {
	i := slices.IndexFunc(s.keys, func(k *Key) bool { return k.ID == id })
	if i < 0 {
		return nil, false
	}
	return s.keys[i], true
}

// Complete reports whether the set has what a server of chats needs: a key that
// signs, or once did, and a symmetric key.
func (s *Set) Complete() bool { return len(s.keys) > 0 && len(s.secrets) > 0 }

// Empty reports whether there is no key in the set at all.
func (s *Set) Empty() bool { return len(s.keys) == 0 && len(s.secrets) == 0 }

// Unready returns why no record can be signed with alg at the time now, or nothing
// authenticated; nil if both can. It names no key.
func (s *Set) Unready(alg Alg, now time.Time) error {
	if len(s.secrets) == 0 {
		return errors.New("the set has no symmetric key")
	}
	if _, err := s.Signer(alg, now); err == nil {
		return nil
	}
	var revoked, early, ended, public, other int
	for _, k := range s.keys {
		switch {
		case k.Alg != alg:
			other++
		case k.Revoked:
			revoked++
		case now.Before(k.NotBefore):
			early++
		case k.Usable(alg, now) != nil:
			ended++
		default:
			public++
		}
	}
	var why []string
	for _, w := range []struct {
		n    int
		what string
	}{{revoked, "revoked"}, {ended, "past its end"}, {early, "not valid yet"}, {public, "without its private half"}, {other, "of another algorithm"}} {
		if w.n > 0 {
			why = append(why, fmt.Sprintf("%d %s", w.n, w.what))
		}
	}
	if len(why) == 0 {
		return fmt.Errorf("the set has no key that signs with %s", alg)
	}
	return fmt.Errorf("no key of the set can sign with %s: %s", alg, strings.Join(why, ", "))
}

// Keys returns the keys, oldest first.
func (s *Set) Keys() []*Key { return slices.Clone(s.keys) }

// Signer returns the key that signs with alg at the time now: of those that are
// valid and have a private half the one with the latest NotBefore that has been
// published for Wait; if there is none, the one published first.
func (s *Set) Signer(alg Alg, now time.Time) (*Key, error) {
	var best *Key
	for _, k := range s.keys {
		if k.private == nil || k.Usable(alg, now) != nil {
			continue
		}
		if best == nil || !k.from().After(now) && (best.from().After(now) || k.NotBefore.After(best.NotBefore)) {
			best = k
		}
	}
	if best == nil {
		return nil, fmt.Errorf("no key of the %d in the set can sign with %s now", len(s.keys), alg)
	}
	return best, nil
}

// from returns when k signs if there is another key that can.
func (k *Key) from() time.Time {
	if ready := k.Published.Add(Wait); ready.After(k.NotBefore) {
		return ready
	}
	return k.NotBefore
}

// Verify returns the fault of value as the signature of payload at the time at
// by the key called kid, which must be for alg.
func (s *Set) Verify(kid string, alg Alg, payload []byte, value string, at time.Time) error {
	k, ok := s.Key(kid)
	if !ok {
		return faultf(UnknownKey, "no key of the set has the signature's kid")
	}
	if err := k.Usable(alg, at); err != nil {
		return err
	}
	return k.verify(payload, value)
}

// With returns the set with k. Keys of k's algorithm that have no end get one
// after the Overlap with k, and those that can sign no more at k.Published lose
// their private half: they stay to verify.
func (s *Set) With(k *Key) *Set {
	all := make([]*Key, 0, len(s.keys)+1)
	for _, old := range s.keys {
		o := *old
		if o.Alg == k.Alg && o.NotAfter.IsZero() {
			o.NotAfter = k.NotBefore.Add(Overlap)
		}
		if o.Revoked || !o.NotAfter.IsZero() && o.NotAfter.Before(k.Published) {
			o.private = nil
		}
		all = append(all, &o)
	}
	return &Set{keys: sorted(append(all, k)), secrets: s.secrets}
}

// Revoke returns the set with the key called id revoked and its private half
// gone. It reports false if there is no such key.
func (s *Set) Revoke(id string) (*Set, bool) {
	k, ok := s.Key(id)
	if !ok {
		return s, false
	}
	r := *k
	r.Revoked, r.private = true, nil
	all := slices.Clone(s.keys)
	all[slices.Index(all, k)] = &r
	return &Set{keys: all, secrets: s.secrets}, true
}

func sorted(keys []*Key) []*Key {
	slices.SortStableFunc(keys, func(a, b *Key) int {
		return cmp.Or(a.Published.Compare(b.Published), a.NotBefore.Compare(b.NotBefore), cmp.Compare(a.ID, b.ID))
	})
	return keys
}

// A secret is a symmetric key of the set.
type secret struct {
	bytes     []byte // 32 or more
	published time.Time
}

// A Secret authenticates what the server hands out and takes back: derived from
// a symmetric key of the set, for one purpose.
type Secret struct {
	ID  string // 8 characters of base64url: which key of the set. Public
	Key []byte // 32 bytes
}

// Secrets returns the secrets for purpose, first the one that is to be used for
// what is new at the time now: the latest that has been in the set for Wait, or
// else the first. What was made with any of them is good. There are none if the
// set has no symmetric key.
func (s *Set) Secrets(purpose string, now time.Time) []Secret {
	best := 0
	for i, k := range s.secrets {
		if !k.published.Add(Wait).After(now) {
			best = i
		}
	}
	var all []Secret
	for i, k := range s.secrets {
		d := Secret{ID: base64.RawURLEncoding.EncodeToString(k.derive("id", 6)), Key: k.derive("use "+purpose, sha256.Size)}
		if i == best {
			all = slices.Insert(all, 0, d)
		} else {
			all = append(all, d)
		}
	}
	return all
}

func (k *secret) derive(info string, n int) []byte {
	b, err := hkdf.Key(sha256.New, k.bytes, nil, "agent-chat "+info, n)
	if err != nil {
		panic("signed: " + err.Error()) // n is far below what HKDF can give
	}
	return b
}
