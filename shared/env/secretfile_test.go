package env_test

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agentchat/shared/env"
	"agentchat/shared/signed"
)

func TestTokenFileMakesOnceAndKeeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, made, err := env.TokenFile(dir, "api-token", bytes.NewReader(make([]byte, 32)))
	if want := strings.Repeat("A", 43); err != nil || !made || first != want {
		t.Fatalf("TokenFile = %q, %v, %v; want %q, true", first, made, err, want)
	}
	second, made, err := env.TokenFile(dir, "api-token", rand.Reader)
	if err != nil || made || second != first {
		t.Errorf("TokenFile again = %q, %v, %v; want the same, false", second, made, err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "api-token"): 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != want {
			t.Errorf("mode of %s = %v, %v; want %v", path, st.Mode(), err, want)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("the folder holds %v, %v; want the token alone", names, err)
	}
}

// Whoever makes the file at the same time gets the same token, and one made it.
func TestTokenFileRace(t *testing.T) {
	for range 20 {
		dir := t.TempDir()
		tokens, makers := map[string]int{}, 0
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				token, made, err := env.TokenFile(dir, "t", rand.Reader)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Errorf("TokenFile: %v", err)
				}
				tokens[token]++
				if made {
					makers++
				}
			})
		}
		wg.Wait()
		if len(tokens) != 1 || makers != 1 {
			t.Fatalf("%d tokens by %d makers; want 1 by 1", len(tokens), makers)
		}
	}
}

func TestTokenFileRefuses(t *testing.T) {
	for _, row := range []struct {
		name, content string
		mode          os.FileMode
	}{
		{"group may read", token, 0o640},
		{"others may read", token, 0o604},
		{"empty", "", 0o600},
		{"blank", " \n", 0o600},
		{"short", "secret", 0o600},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "t")
			if err := os.WriteFile(path, []byte(row.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, row.mode); err != nil {
				t.Fatal(err)
			}
			_, made, err := env.TokenFile(dir, "t", rand.Reader)
			if err == nil || made || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "secret") {
				t.Errorf("TokenFile = %v, %v; want an error that names the file and not its content", made, err)
			}
			if got, _ := os.ReadFile(path); string(got) != row.content {
				t.Errorf("the file now holds %q; want it left alone", got)
			}
		})
	}
}

// The keys are made once, and can sign and authenticate from then on; a file
// that is no key set is left alone, and not quoted.
func TestKeyFile(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 7, 19, 12, 0, 0, 5e8, time.UTC)
	first, made, err := env.KeyFile(dir, "keys", now)
	if err != nil || !made {
		t.Fatalf("KeyFile: made = %t, %v; want them made", made, err)
	}
	if st, err := os.Stat(filepath.Join(dir, "keys")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", st.Mode(), err)
	}
	again, made, err := env.KeyFile(dir, "keys", now.Add(time.Hour))
	if err != nil || made {
		t.Fatalf("KeyFile again: made = %t, %v; want those that there are", made, err)
	}
	if string(again.Private()) != string(first.Private()) {
		t.Error("KeyFile again gave other keys")
	}
	k, err := again.Signer(signed.ES256, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Sign([]byte("x"), now); err != nil {
		t.Errorf("Sign at the time of making: %v", err)
	}
	if n := len(again.Secrets("test", now)); n != 1 {
		t.Errorf("%d secrets; want 1", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad"), []byte(`{"keys":[{"kty":"oct","k":"secret"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := env.KeyFile(dir, "bad", now); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "bad")) || strings.Contains(err.Error(), "secret") {
		t.Errorf("KeyFile of a bad one: %v; want an error that names the file and not its content", err)
	}
}

// What replaces a secret is as private as it was, and nothing stays beside it.
func TestReplaceSecret(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "keys")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := env.ReplaceSecret(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	st, errStat := os.Stat(path)
	names, errDir := os.ReadDir(dir)
	if err != nil || errStat != nil || errDir != nil || string(b) != "new" || st.Mode().Perm() != 0o600 || len(names) != 1 {
		t.Errorf("the file holds %q, mode %v, among %d; %v %v %v", b, st.Mode(), len(names), err, errStat, errDir)
	}
	if err := env.ReplaceSecret(filepath.Join(dir, "missing", "keys"), []byte("new")); err == nil {
		t.Error("ReplaceSecret in no folder succeeded")
	}
}
