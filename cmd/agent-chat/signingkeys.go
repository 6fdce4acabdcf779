package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"agentchat/shared/env"
	"agentchat/shared/signed"
)

func (a *app) signingKeysCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "signing-keys", Short: "Manage the keys that sign chats", Args: takes(0, 0),
		Long: `Manage the keys that sign chats: the file in the data folder, another one, or with
--file - what standard input has, written changed to standard output, as for the
secret of a deployment. The server reads the file when it starts.`,
		Example: `  agent-chat signing-keys list
  agent-chat signing-keys rotate
  agent-chat signing-keys public >keys.json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&file, "file", "", "the key `file`, or - (default "+keysFile+" in $AGENT_CHAT_DATA, else in .agent-chat)")
	list := &cobra.Command{
		Use: "list", Short: "List the keys and what each does now", Args: takes(0, 0),
		Long:    "List the keys, the oldest first, and what each does now. No private half is shown.",
		Example: "  agent-chat signing-keys list\n  agent-chat signing-keys list --json",
		RunE: func(*cobra.Command, []string) error {
			keys, err := a.readKeyFile(a.keyPath(file))
			if err != nil {
				return err
			}
			a.listKeys(keys, time.Now())
			return nil
		},
	}
	public := &cobra.Command{
		Use: "public", Short: "Write the public keys, as the server publishes them", Args: takes(0, 0),
		Long:    "Write the JWK set of the public keys, which the server publishes at /.well-known/jwks.json\nand verify reads. Revoked keys are not in it.",
		Example: "  agent-chat signing-keys public >keys.json",
		RunE: func(*cobra.Command, []string) error {
			keys, err := a.readKeyFile(a.keyPath(file))
			if err == nil {
				_, err = fmt.Fprintf(a.out, "%s\n", keys.Public())
			}
			return err
		},
	}
	var pem string
	var secrets bool
	rotate := &cobra.Command{
		Use: "rotate", Short: "Add a key that will sign in place of the present one", Args: takes(0, 0),
		Long: `Add a key. It is published at once, when the server has read it, and signs a quarter
of an hour later, so that verifiers know it by then; the present one stays published
for what it signed, and is valid for another week. A server that reads its keys from
a file takes the new one when it is started again: do that at once. Where no key can
sign, the new one does at once. A set without keys gets a first key, and the secret
behind owners' tokens and cursors.

With --secrets that secret is replaced likewise: the former one still opens what it made.`,
		Example: `  agent-chat signing-keys rotate
  agent-chat signing-keys rotate --pem key.pem
  aws secretsmanager get-secret-value --secret-id ARN --query SecretString --output text |
    agent-chat signing-keys rotate --file - |
    aws secretsmanager put-secret-value --secret-id ARN --secret-string file:///dev/stdin`,
		RunE: func(*cobra.Command, []string) error {
			return a.changeKeys(file, "added", func(s *signed.Set) (*signed.Set, string, error) { return rotated(s, pem, secrets, time.Now()) })
		},
	}
	rotate.Flags().StringVar(&pem, "pem", "", "take the private key in this `file`")
	rotate.Flags().BoolVar(&secrets, "secrets", false, "replace the secret too")
	revoke := &cobra.Command{
		Use: "revoke KID", Short: "Let a key verify nothing any more", Args: takes(1, 1),
		Long: `Revoke a key, as one that leaked: it is published no more, and what it signed, at any
time, verifies no more. Where it signs now, rotate afterwards: the new key signs at once.`,
		Example: "  agent-chat signing-keys revoke KID\n  agent-chat signing-keys rotate",
		RunE: func(_ *cobra.Command, args []string) error {
			return a.changeKeys(file, "revoked", func(s *signed.Set) (*signed.Set, string, error) {
				changed, ok := s.Revoke(args[0])
				if !ok {
					return nil, "", usagef("there is no key %s", inertLine(args[0]))
				}
				return changed, args[0], nil
			})
		},
	}
	revoke.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var ids []string
		if len(args) > 0 || file == "-" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if keys, err := a.readKeyFile(a.keyPath(file)); err == nil {
			for _, k := range keys.Keys() {
				ids = append(ids, k.ID)
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.AddCommand(list, public, rotate, revoke)
	return cmd
}

// rotated returns the set with another key for records, and which.
func rotated(s *signed.Set, pem string, secrets bool, now time.Time) (*signed.Set, string, error) {
	from := now
	if _, err := s.Signer(signed.ES256, now); err == nil {
		from = now.Add(signed.Wait)
	}
	k, err := signed.NewKey(signed.ES256, now, from)
	if pem != "" {
		k, err = pemKey(pem, now, from)
	}
	if err != nil {
		return nil, "", err
	}
	if _, there := s.Key(k.ID); there {
		return nil, "", usagef("the key is there already: %s", k.ID)
	}
	if secrets || len(s.Secrets("", now)) == 0 {
		s = s.WithSecret(now)
	}
	return s.With(k), k.ID, nil
}

func pemKey(name string, now, from time.Time) (*signed.Key, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, usage{err}
	}
	k, err := signed.ParsePEM(b, now, from)
	switch {
	case err != nil:
		return nil, usage{fmt.Errorf("%s: %w", name, err)}
	case k.Alg != signed.ES256:
		return nil, usagef("%s: records are signed with a key of P-256", name)
	}
	if _, err := k.Sign(nil, from); err != nil {
		return nil, usagef("%s: it is the public half", name)
	}
	return k, nil
}

func (a *app) listKeys(keys *signed.Set, now time.Time) {
	rows := [][]string{{"KID", "ALG", "STATE", "SIGNS FROM", "VALID UNTIL"}}
	signer, err := keys.Signer(signed.ES256, now)
	for _, k := range keys.Keys() {
		state := "verifies"
		switch {
		case k.Revoked:
			state = "revoked"
		case err == nil && k.ID == signer.ID:
			state = "signs"
		case k.NotBefore.After(now) || k.Published.Add(signed.Wait).After(now):
			state = "waits"
		}
		until := ""
		if !k.NotAfter.IsZero() {
			until = k.NotAfter.Format(time.RFC3339)
		}
		if a.json {
			a.object(a.out, map[string]any{"kid": k.ID, "alg": k.Alg, "state": state, "not_before": k.NotBefore.Format(time.RFC3339), "not_after": until})
		}
		rows = append(rows, []string{k.ID, string(k.Alg), state, k.NotBefore.Format(time.RFC3339), until})
	}
	if !a.json {
		a.table(rows)
	}
}

// keyPath returns the key file that is meant.
func (a *app) keyPath(file string) string {
	if file != "" {
		return file
	}
	data := a.getenv(env.Data)
	if data == "" {
		data = defaultData
	}
	return filepath.Join(data, keysFile)
}

// readKeyFile reads the keys of signing-keys, and says where they may be if they are not there.
func (a *app) readKeyFile(path string) (*signed.Set, error) {
	keys, err := a.readKeys(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("%w; a server makes the file in its data folder, and --file names another", err)
	}
	return keys, err
}

// changeKeys changes the keys where they are, and says which key it was about.
func (a *app) changeKeys(file, did string, change func(*signed.Set) (*signed.Set, string, error)) error {
	path := a.keyPath(file)
	keys, err := a.readKeyFile(path)
	if err != nil {
		return err
	}
	keys, kid, err := change(keys)
	if err != nil {
		return err
	}
	if path == "-" {
		_, err = a.out.Write(keys.Private())
	} else {
		err = env.ReplaceSecret(path, keys.Private())
	}
	switch {
	case err != nil:
		return err
	case path == "-": // which is all that may stand there
	case a.json:
		a.object(a.out, map[string]any{did: kid, "file": path})
	default:
		a.say("%s %s in %s; a running server takes it when it is started again", did, kid, path)
	}
	if _, err := keys.Signer(signed.ES256, time.Now()); err != nil && !a.json {
		a.note("  With these keys nothing can be signed now: agent-chat signing-keys rotate adds one that signs at once.")
	}
	return nil
}
