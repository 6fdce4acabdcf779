package signed

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"
)

// An Alg is a signature algorithm by its JOSE name.
type Alg string

// The algorithms. Records of chats are signed with ES256 (RFC 7518, section
// 3.4); EdDSA with Ed25519 (RFC 8037) is for agreements.
const (
	ES256 Alg = "ES256"
	EdDSA Alg = "EdDSA"
)

const signatureSize = 64

// A Key is a key of a Set, with or without its private half. It is not changed once made.
type Key struct {
	ID        string // its RFC 7638 thumbprint
	Alg       Alg
	Published time.Time // when it was put into the set: zero if unknown
	NotBefore time.Time // zero: no bound
	NotAfter  time.Time // inclusive; zero: no bound
	Revoked   bool

	public  crypto.PublicKey // *ecdsa.PublicKey on P-256, or ed25519.PublicKey
	private crypto.Signer    // nil: verifies only
}

// NewKey makes a key that is published at the time now and may sign from notBefore on.
func NewKey(alg Alg, now, notBefore time.Time) (*Key, error) {
	k := newKey(now, notBefore)
	switch k.Alg = alg; alg {
	case ES256:
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		k.private, k.public = private, &private.PublicKey
	case EdDSA:
		public, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		k.private, k.public = private, public
	default:
		return nil, fmt.Errorf("no algorithm %q", alg)
	}
	k.ID = k.thumbprint()
	return k, nil
}

// newKey returns a key without halves, its times to the second as a JWK has them.
func newKey(now, notBefore time.Time) *Key {
	return &Key{Published: now.UTC().Truncate(time.Second), NotBefore: notBefore.UTC().Truncate(time.Second)}
}

// Sign returns the signature of payload as JOSE has it: 64 bytes in base64url
// without padding, for ES256 r and s of 32 bytes each. It refuses if the key has
// no private half or is not valid at the time at. No two signatures of ES256
// are the same, even of one payload.
func (k *Key) Sign(payload []byte, at time.Time) (string, error) { return k.sign(k.Alg, payload, at) }

func (k *Key) sign(alg Alg, payload []byte, at time.Time) (string, error) {
	if err := k.Usable(alg, at); err != nil {
		return "", err
	}
	var sig []byte
	switch private := k.private.(type) {
	case *ecdsa.PrivateKey:
		sum := sha256.Sum256(payload)
		r, s, err := ecdsa.Sign(rand.Reader, private, sum[:])
		if err != nil {
			return "", fmt.Errorf("sign: %w", err)
		}
		sig = make([]byte, signatureSize)
		r.FillBytes(sig[:32])
		s.FillBytes(sig[32:])
	case ed25519.PrivateKey:
		sig = ed25519.Sign(private, payload)
	default:
		return "", faultf(UnknownKey, "%s has no private half here", k.ID)
	}
	return base64.RawURLEncoding.EncodeToString(sig), nil
}

// Usable returns the fault of using k with alg for what is signed at the time at.
func (k *Key) Usable(alg Alg, at time.Time) error {
	switch {
	case k.Alg != alg:
		return faultf(WrongAlgorithm, "the key %s is for %s", k.ID, k.Alg)
	case k.Revoked:
		return faultf(RevokedKey, "%s", k.ID)
	case !k.NotBefore.IsZero() && at.Before(k.NotBefore):
		return faultf(KeyTime, "signed at %s, before the key's %s", stamp(at), stamp(k.NotBefore))
	case !k.NotAfter.IsZero() && at.After(k.NotAfter):
		return faultf(KeyTime, "signed at %s, after the key's %s", stamp(at), stamp(k.NotAfter))
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
