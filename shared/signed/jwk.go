package signed

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A jwk is a key in JSON (RFC 7517, 7518, 8037). Members that are not here are
// ignored, as the RFC wants. Times are seconds since 1970, as in a JWT (RFC 7519).
type jwk struct {
	KTY     string   `json:"kty"`
	CRV     string   `json:"crv,omitzero"`
	X       string   `json:"x,omitzero"`
	Y       string   `json:"y,omitzero"`
	D       string   `json:"d,omitzero"`
	K       string   `json:"k,omitzero"`
	KID     string   `json:"kid,omitzero"`
	Use     string   `json:"use,omitzero"`
	Ops     []string `json:"key_ops,omitzero"`
	Alg     Alg      `json:"alg,omitzero"`
	IAT     int64    `json:"iat,omitzero"` // when the key was put into the set
	NBF     int64    `json:"nbf,omitzero"`
	EXP     int64    `json:"exp,omitzero"`
	Revoked bool     `json:"revoked,omitzero"`
}

type jwks struct {
	Keys *[]jwk `json:"keys"`
}

// ParseSet reads a JWK set, as a server keeps it (with private halves) or as it
// is published. A kid may be missing, and must otherwise be the RFC 7638
// thumbprint. Keys of a kind that this package does not know are left out. No
// error quotes what was read.
func ParseSet(b []byte) (*Set, error) {
	var in jwks
	if err := json.Unmarshal(b, &in); err != nil || in.Keys == nil {
		return nil, errors.New(`not a JWK set: {"keys": [...]} with each member once`) // the error may quote a key
	}
	s := &Set{}
	for i, j := range *in.Keys {
		if err := s.add(j); err != nil {
			return nil, fmt.Errorf("key %d of the set: %w", i, err)
		}
	}
	sorted(s.keys)
	slices.SortStableFunc(s.secrets, func(a, b *secret) int { return a.published.Compare(b.published) })
	return s, nil
}

func (s *Set) add(j jwk) error {
	if j.KTY == "oct" {
		b, err := decode(j.K)
		if err != nil || len(b) < 32 {
			return errors.New("a symmetric key is 32 bytes or more of base64url")
		}
		s.secrets = append(s.secrets, &secret{bytes: b, published: instant(j.IAT)})
		return nil
	}
	k, err := j.key()
	if err != nil || k == nil {
		return err
	}
	if _, twice := s.Key(k.ID); twice {
		return errors.New("there twice")
	}
	s.keys = append(s.keys, k)
	return nil
}

// key returns the key in j, or nil if it is none for signatures.
func (j *jwk) key() (*Key, error) {
	k := &Key{Published: instant(j.IAT), NotBefore: instant(j.NBF), NotAfter: instant(j.EXP), Revoked: j.Revoked}
	if k.Published.IsZero() {
		k.Published = k.NotBefore
	}
	var err error
	switch {
	case j.Use != "" && j.Use != "sig":
		return nil, nil
	case j.KTY == "EC" && j.CRV == "P-256":
		k.Alg = ES256
		err = j.p256(k)
	case j.KTY == "OKP" && j.CRV == "Ed25519":
		k.Alg = EdDSA
		err = j.ed25519(k)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch k.ID = k.thumbprint(); {
	case j.Alg != "" && j.Alg != k.Alg && (k.Alg != EdDSA || j.Alg != "Ed25519"):
		return nil, fmt.Errorf("alg is not %s, which the key is for", k.Alg)
	case j.KID != "" && j.KID != k.ID:
		return nil, fmt.Errorf("kid is not the key's thumbprint %s (RFC 7638)", k.ID)
	}
	return k, nil
}

func (j *jwk) p256(k *Key) error {
	x, errX := decode(j.X)
	y, errY := decode(j.Y)
	if errX != nil || errY != nil || len(x) != 32 || len(y) != 32 {
		return errors.New("x and y are 32 bytes each of base64url")
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y))
	if err != nil {
		return errors.New("x and y are no point of P-256")
	}
	k.public = public
	if j.D == "" {
		return nil
	}
	d, err := decode(j.D)
	if err != nil || len(d) != 32 {
		return errors.New("d is 32 bytes of base64url")
	}
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), d)
	if err != nil || !private.PublicKey.Equal(public) {
		return errors.New("d is not the private half of x and y")
	}
	k.private = private
	return nil
}

func (j *jwk) ed25519(k *Key) error {
	x, err := decode(j.X)
	if err != nil || len(x) != ed25519.PublicKeySize {
		return errors.New("x is 32 bytes of base64url")
	}
	k.public = ed25519.PublicKey(x)
	if j.D == "" {
		return nil
	}
	d, err := decode(j.D)
	if err != nil || len(d) != ed25519.SeedSize {
		return errors.New("d is 32 bytes of base64url")
	}
	private := ed25519.NewKeyFromSeed(d)
	if !bytes.Equal(private.Public().(ed25519.PublicKey), x) {
		return errors.New("d is not the private half of x")
	}
	k.private = private
	return nil
}

// thumbprint is that of RFC 7638, with its members in the order of their names.
func (k *Key) thumbprint() string {
	j := k.jwk(false)
	form := `{"crv":"` + j.CRV + `","kty":"` + j.KTY + `","x":"` + j.X + `"`
	if j.Y != "" {
		form += `,"y":"` + j.Y + `"`
	}
	sum := sha256.Sum256([]byte(form + "}"))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (k *Key) jwk(private bool) jwk {
	j := jwk{KID: k.ID, Use: "sig", Alg: k.Alg, NBF: seconds(k.NotBefore), EXP: seconds(k.NotAfter)}
	encode := base64.RawURLEncoding.EncodeToString
	switch public := k.public.(type) {
	case *ecdsa.PublicKey:
		b, err := public.Bytes()
		if err != nil {
			panic("signed: " + err.Error()) // the point was checked when the key was made
		}
		j.KTY, j.CRV, j.X, j.Y = "EC", "P-256", encode(b[1:33]), encode(b[33:])
	case ed25519.PublicKey:
		j.KTY, j.CRV, j.X = "OKP", "Ed25519", encode(public)
	}
	if !private {
		return j
	}
	j.IAT, j.Revoked = seconds(k.Published), k.Revoked
	switch private := k.private.(type) {
	case *ecdsa.PrivateKey:
		b, err := private.Bytes()
		if err != nil {
			panic("signed: " + err.Error())
		}
		j.D = encode(b)
	case ed25519.PrivateKey:
		j.D = encode(private.Seed())
	}
	return j
}

// Public returns what is published: the JWK set of the keys that verify, future
// and retired ones too. A revoked key is not in it, so that no verifier, ours or
// another's, takes it.
func (s *Set) Public() []byte {
	keys := []jwk{}
	for _, k := range s.keys {
		if !k.Revoked {
			keys = append(keys, k.jwk(false))
		}
	}
	return marshal(keys)
}

// Private returns the whole set as ParseSet reads it, private halves and
// symmetric keys included, indented for people.
func (s *Set) Private() []byte {
	keys := []jwk{}
	for _, k := range s.keys {
		keys = append(keys, k.jwk(true))
	}
	for _, k := range s.secrets {
		keys = append(keys, jwk{KTY: "oct", K: base64.RawURLEncoding.EncodeToString(k.bytes), IAT: seconds(k.published)})
	}
	return append(marshal(keys, jsontext.WithIndent("  ")), '\n')
}

func marshal(keys []jwk, options ...json.Options) []byte {
	b, err := json.Marshal(jwks{&keys}, options...)
	if err != nil {
		panic("signed: " + err.Error()) // strings of ASCII and numbers
	}
	return b
}

// WithSecret returns the set with another symmetric key of 32 random bytes, put
// into it at the time now.
func (s *Set) WithSecret(now time.Time) *Set {
	k := &secret{bytes: make([]byte, 32), published: now.UTC().Truncate(time.Second)}
	_, _ = rand.Read(k.bytes) // never fails
	return &Set{keys: s.keys, secrets: append(slices.Clone(s.secrets), k)}
}

// decode takes the one base64url form of some bytes: no padding, no line feeds,
// no bits that stand for nothing.
func decode(s string) ([]byte, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || base64.RawURLEncoding.EncodeToString(b) != s {
		return nil, errors.New("not base64url")
	}
	return b, nil
}

func instant(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}
