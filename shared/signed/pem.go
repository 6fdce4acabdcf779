package signed

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"time"
)

// ParsePEM reads one key in PEM: a private one (PKCS #8 or SEC 1) or a public
// one (SPKI), of P-256 or Ed25519. It is published at the time now and may sign
// from notBefore on. No error quotes what was read.
func ParsePEM(b []byte, now, notBefore time.Time) (*Key, error) {
	block, rest := pem.Decode(b)
	if block != nil && block.Type == "EC PARAMETERS" { // openssl ecparam writes it in front
		block, rest = pem.Decode(rest)
	}
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("not one key in PEM")
	}
	var key any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "PUBLIC KEY":
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	default:
		return nil, errors.New("a PEM block that is not PRIVATE KEY, EC PRIVATE KEY or PUBLIC KEY")
	}
	if err != nil {
		return nil, errors.New("a " + block.Type + " that can't be read") // the error may quote it
	}
	k := newKey(now, notBefore)
	switch key := key.(type) {
	case *ecdsa.PrivateKey:
		k.Alg, k.private, k.public = ES256, key, &key.PublicKey
	case *ecdsa.PublicKey:
		k.Alg, k.public = ES256, key
	case ed25519.PrivateKey:
		k.Alg, k.private, k.public = EdDSA, key, key.Public()
	case ed25519.PublicKey:
		k.Alg, k.public = EdDSA, key
	}
	if p, ok := k.public.(*ecdsa.PublicKey); k.public == nil || ok && p.Curve != elliptic.P256() {
		return nil, errors.New("a key that is not of P-256 or Ed25519")
	}
	k.ID = k.thumbprint()
	return k, nil
}
