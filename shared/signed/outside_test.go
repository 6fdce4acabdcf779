package signed_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentchat/shared/signed"
)

// A verifier that shares no code with ours gives the verdicts of the vectors,
// on node:crypto and on WebCrypto.
func TestNode(t *testing.T) {
	for _, impl := range []string{"node", "webcrypto"} {
		t.Run(impl, func(t *testing.T) { runNode(t, impl) })
	}
}

// It does with keys that jose, a library of JOSE, chose and imported.
func TestJOSE(t *testing.T) {
	if testing.Short() {
		t.Skip("installs jose")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skipf("NOT TESTED: jose: %v", err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/npm")); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	runNode(t, "jose", "JOSE="+filepath.Join(dir, "node_modules/jose/dist/webapi/index.js"))
}

func runNode(t *testing.T, impl string, environ ...string) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("NOT TESTED: verification by Node: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/vectors/verify.mjs", impl, vectorFile)
	cmd.Env = append(os.Environ(), environ...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), " 0 wrong") {
		t.Errorf("%v\n%s", err, out)
	}
}

// openssl verifies the signatures of good records, once they are in DER, and not
// those of records whose fields or signature were changed.
func TestOpenSSL(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skipf("NOT TESTED: verification by openssl: %v", err)
	}
	set, _ := readVectors(t)
	dir := t.TempDir()
	file := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pems := publicPEMs(t, set.Keys)
	checked := map[bool]int{}
	for _, v := range set.Vectors {
		good := v.Reason == ""
		if !strings.Contains(v.Record, `"type":"chat.message"`) || !good && v.Reason != signed.WrongSignature {
			continue
		}
		var r struct {
			Message struct {
				Signature struct{ Kid, Value string }
			}
		}
		if err := json.Unmarshal([]byte(v.Record), &r); err != nil {
			t.Fatal(err)
		}
		raw, err := base64.RawURLEncoding.DecodeString(r.Message.Signature.Value)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "openssl", "dgst", "-sha256",
			"-verify", file("key.pem", pems[r.Message.Signature.Kid]), "-signature", file("sig.der", derOf(raw)), file("payload", []byte(payloadOf(t, v.Record)))).CombinedOutput()
		if (err == nil) != good {
			t.Errorf("%s: openssl says %q, %v; want it to verify: %t", v.Name, out, err, good)
		}
		checked[good]++
	}
	if checked[true] < 10 || checked[false] < 5 {
		t.Errorf("%d good and %d bad records checked; want more", checked[true], checked[false])
	}
}

// publicPEMs returns the P-256 keys of a JWK set for openssl, made with the
// standard library alone.
func publicPEMs(t *testing.T, jwks []byte) map[string][]byte {
	t.Helper()
	var set struct {
		Keys []struct{ Kty, Kid, X, Y string }
	}
	if err := json.Unmarshal(jwks, &set); err != nil {
		t.Fatal(err)
	}
	pems := map[string][]byte{}
	for _, k := range set.Keys {
		if k.Kty != "EC" {
			continue
		}
		x, errX := base64.RawURLEncoding.DecodeString(k.X)
		y, errY := base64.RawURLEncoding.DecodeString(k.Y)
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y))
		if errX != nil || errY != nil || err != nil {
			t.Fatalf("key %s: %v %v %v", k.Kid, errX, errY, err)
		}
		der, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		pems[k.Kid] = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	}
	return pems
}
