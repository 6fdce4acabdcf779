package env

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agentchat/shared/auth"
	"agentchat/shared/signed"
)

const maxSecretFile = 1 << 20

// TokenFile returns the token in dir/name. If there is no such file, it makes
// dir (0700) and one of 32 random bytes in base64url (0600), and made is true.
// The file is whole and durable when TokenFile returns, and of several
// processes that make it at once all get the same token. A file that others may
// read, or that holds no token, is an error; none repeats what it holds.
func TokenFile(dir, name string, random io.Reader) (token string, made bool, err error) {
	return secretFile(dir, name, readToken, func() ([]byte, error) {
		var secret [32]byte
		_, err := io.ReadFull(random, secret[:])
		return []byte(base64.RawURLEncoding.EncodeToString(secret[:]) + "\n"), err
	})
}

// KeyFile returns the key set in dir/name, as signed.ParseSet reads it. If there
// is no such file, it makes one as TokenFile does, with a signing key that is
// valid from the time now on and a secret.
func KeyFile(dir, name string, now time.Time) (keys *signed.Set, made bool, err error) {
	return secretFile(dir, name, signed.ParseSet, func() ([]byte, error) {
		fresh, err := signed.NewSet(now)
		if err != nil {
			return nil, err
		}
		return fresh.Private(), nil
	})
}

func readToken(b []byte) (string, error) {
	token := strings.TrimSpace(string(b))
	_, err := auth.ParseTokens(token)
	return token, err
}

// secretFile returns what parse makes of dir/name, and makes it first if there is no such file.
func secretFile[T any](dir, name string, parse func([]byte) (T, error), content func() ([]byte, error)) (v T, made bool, err error) {
	path := filepath.Join(dir, name)
	v, err = readSecret(path, parse)
	if !errors.Is(err, fs.ErrNotExist) {
		return v, false, err
	}
	made, err = makeSecret(dir, path, content)
	if err != nil {
		return v, false, fmt.Errorf("make %s: %w", path, err)
	}
	v, err = readSecret(path, parse)
	return v, made && err == nil, err
}

func readSecret[T any](path string, parse func([]byte) (T, error)) (v T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return v, err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return v, err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return v, fmt.Errorf("%s can be read by others than its owner: chmod 600 it, and change what it holds if anybody was there", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecretFile))
	if err != nil {
		return v, err
	}
	v, err = parse(b)
	if err != nil {
		return v, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// makeSecret makes the file, or leaves the one that another process made
// meanwhile: the link, unlike a rename, never replaces.
func makeSecret(dir, path string, content func() ([]byte, error)) (made bool, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	secret, err := content()
	if err != nil {
		return false, err
	}
	tmp, err := writeBeside(path, secret)
	if err != nil {
		return false, err
	}
	defer func() { _ = os.Remove(tmp) }()
	err = os.Link(tmp, path)
	made = err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	return made, syncDir(dir)
}

// ReplaceSecret puts b in place of what the file at path holds: whoever reads it
// sees the one or the other, and b is durable when ReplaceSecret returns. The file
// is of mode 0600.
func ReplaceSecret(path string, b []byte) error {
	tmp, err := writeBeside(path, b)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return syncDir(filepath.Dir(path))
}

// writeBeside writes b to a new file in the folder of path, durably, and returns its name.
func writeBeside(path string, b []byte) (name string, err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return "", err
	}
	_, err = tmp.Write(b)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return "", errors.Join(err, os.Remove(tmp.Name()))
	}
	return tmp.Name(), nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
