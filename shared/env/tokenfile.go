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

	"agentchat/shared/auth"
)

// TokenFile returns the token in dir/name. If there is no such file, it makes
// dir (0700) and one of 32 random bytes in base64url (0600), and made is true.
// The file is whole and durable when TokenFile returns, and of several
// processes that make it at once all get the same token. A file that others may
// read, or that holds no token, is an error; none repeats what it holds.
func TokenFile(dir, name string, random io.Reader) (token string, made bool, err error) {
	path := filepath.Join(dir, name)
	token, err = readToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, false, err
	}
	made, err = makeToken(dir, path, random)
	if err != nil {
		return "", false, fmt.Errorf("make %s: %w", path, err)
	}
	token, err = readToken(path)
	return token, made && err == nil, err
}

func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read by others than its owner: chmod 600 it, and change the token if anybody was there", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(b))
	if _, err := auth.ParseTokens(token); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return token, nil
}

// makeToken makes the file, or leaves the one that another process made
// meanwhile: the link, unlike a rename, never replaces.
func makeToken(dir, path string, random io.Reader) (made bool, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	var secret [32]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return false, err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return false, err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.WriteString(base64.RawURLEncoding.EncodeToString(secret[:]) + "\n")
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return false, err
	}
	err = os.Link(tmp.Name(), path)
	made = err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	d, err := os.Open(dir)
	if err != nil {
		return false, err
	}
	return made, errors.Join(d.Sync(), d.Close())
}
