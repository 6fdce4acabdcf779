package lambdahost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"golang.org/x/sync/errgroup"

	"agentchat/shared/env"
)

const (
	secretAge = 5 * time.Minute  // how long a value is used before it is read again
	retryAge  = 30 * time.Second // the same, after it could not be read
	readTime  = 5 * time.Second  // for reading all of them
)

// secretSuffix marks a variable that holds the ARN of a secret in place of its
// value, or several separated by commas, whose values then are a list.
const secretSuffix = "_SECRET"

// secretVariables returns the variables that may be secrets.
func secretVariables() []string {
	return []string{env.APIToken, env.AdminToken, env.S2Token, env.OriginLock, env.SigningKeys}
}

// Secrets makes a handler from the environment and from Secrets Manager, and
// makes it anew when a secret has another value than before: a rotation needs no
// deployment, and holds everywhere within five minutes. While a secret can't be
// read again, or what it holds is refused, the handler that there is goes on.
type Secrets struct {
	Family string // that the handler is of
	Getenv func(string) string
	New    func(*env.Env) http.Handler
	Log    *slog.Logger
	Now    func() time.Time                                      // nil: time.Now
	Fetch  func(ctx context.Context, arn string) (string, error) // called concurrently; nil: Secrets Manager, as the environment says

	mu      sync.Mutex
	env     *env.Env
	handler http.Handler      // nil: none was made yet
	values  map[string]string // what it was made with, by variable
	due     time.Time         // when they are read again
}

// Handler returns the handler to answer with. It may be called concurrently.
func (s *Secrets) Handler(ctx context.Context) (http.Handler, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.handler != nil && now.Before(s.due) {
		return s.handler, nil
	}
	err := s.renew(ctx)
	switch {
	case err == nil:
		s.due = now.Add(secretAge)
	case s.handler == nil:
		return nil, err
	default:
		s.due = now.Add(retryAge)
		s.Log.LogAttrs(ctx, slog.LevelError, "secrets not renewed; the former ones are used", slog.String("error", err.Error()))
	}
	return s.handler, nil
}

// renew reads the secrets, and makes another handler if they have changed. On an
// error nothing has.
func (s *Secrets) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	values, err := s.read(ctx)
	if err != nil || s.handler != nil && maps.Equal(values, s.values) {
		return err
	}
	getenv := func(name string) string {
		if v, ok := values[name]; ok {
			return v
		}
		return s.Getenv(name)
	}
	locks, err := parseLocks(getenv(env.OriginLock))
	if err != nil {
		return err
	}
	e, err := env.FromEnviron(s.Family, getenv, s.Log)
	if err != nil {
		return err
	}
	if s.env != nil {
		if c, ok := s.env.Store.(interface{ Close() }); ok {
			c.Close()
		}
	}
	s.env, s.handler, s.values = e, locked(locks, s.Log, s.New(e)), values
	return nil
}

// read returns the values of the variables that are secrets, all read at once,
// as a cold start waits for them.
func (s *Secrets) read(ctx context.Context) (map[string]string, error) {
	arns := map[string]string{} // lists of them, by variable
	for _, name := range secretVariables() {
		if arn := s.Getenv(name + secretSuffix); arn != "" {
			arns[name] = arn
		}
	}
	if s.Fetch == nil && len(arns) > 0 {
		c, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return nil, fmt.Errorf("configure the AWS client: %w", err)
		}
		s.Fetch = fetcher(secretsmanager.NewFromConfig(c))
	}
	var mu sync.Mutex
	values := map[string]string{}
	all, ctx := errgroup.WithContext(ctx)
	for name, list := range arns {
		all.Go(func() error {
			var vs []string
			for arn := range strings.SplitSeq(list, ",") {
				v, err := s.Fetch(ctx, arn)
				if err != nil {
					return fmt.Errorf("read the secret of %s: %w", name, err)
				}
				if v = strings.TrimSpace(v); v == "" {
					return fmt.Errorf("the secret of %s is blank", name) // which must not open what it locks
				}
				vs = append(vs, v)
			}
			mu.Lock()
			defer mu.Unlock()
			values[name] = strings.Join(vs, ",")
			return nil
		})
	}
	return values, all.Wait()
}

func fetcher(c *secretsmanager.Client) func(context.Context, string) (string, error) {
	return func(ctx context.Context, arn string) (string, error) {
		out, err := c.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &arn})
		if err != nil {
			return "", err
		}
		if out.SecretString == nil {
			return "", errors.New("it is binary; it must be text")
		}
		return *out.SecretString, nil
	}
}

func (s *Secrets) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}
