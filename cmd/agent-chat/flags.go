package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// takes checks how many arguments there are, and says what the command takes.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if least <= len(args) && len(args) <= most {
			return nil
		}
		return fmt.Errorf("%s; the command is: %s", counted(len(args), "argument"), cmd.UseLine())
	}
}

// anyNumber is no upper bound.
const anyNumber = math.MaxInt

// A number is the value of a flag that is written as the server takes numbers:
// in plain decimal digits. What flags take by default is lenient in other ways:
// 010 would be eight.
type number[T int | uint64] struct {
	value *T
	bits  int
}

// String returns the number.
func (n number[T]) String() string {
	if n.value == nil {
		return "0" // as help asks of the zero flag
	}
	return fmt.Sprint(*n.value)
}

// Set sets the number from its digits.
func (n number[T]) Set(s string) error {
	if s == "" || strings.Trim(s, "0123456789") != "" || s[0] == '0' && s != "0" {
		return errors.New("not a whole number in plain decimal digits")
	}
	v, err := strconv.ParseUint(s, 10, n.bits)
	if err != nil {
		return errors.New("out of range")
	}
	*n.value = T(v)
	return nil
}

// Type returns what help calls the value, if its description names none.
func (number[T]) Type() string { return "number" }

// parsed returns what parse makes of an argument. One that it refuses is a usage error.
func parsed[T any](s string, parse func(string) (T, error)) (T, error) {
	v, err := parse(s)
	if err != nil {
		return v, usage{fmt.Errorf("%q: %w", s, err)}
	}
	return v, nil
}

func parseAgent(s string) (ident.Agent, error) { return parsed(s, ident.ParseAgent) }

func parseMessage(s string) (ident.Message, error) { return parsed(s, ident.ParseMessage) }

func optionalAgent(s string) (ident.Agent, error) {
	if s == "" {
		return "", nil
	}
	return parseAgent(s)
}

func parseAgents(args []string) ([]ident.Agent, error) {
	ids := make([]ident.Agent, len(args))
	for i, s := range args {
		var err error
		if ids[i], err = parseAgent(s); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// pairs returns what KEY=VALUE flags say. A value may hold anything, commas and
// further equals signs too.
func pairs(flag string, args []string) (map[string]string, error) {
	if len(args) == 0 {
		return nil, nil
	}
	m := make(map[string]string, len(args))
	for _, arg := range args {
		k, v, ok := strings.Cut(arg, "=")
		if !ok || k == "" {
			return nil, usagef("%s %q is not KEY=VALUE", flag, arg)
		}
		if _, twice := m[k]; twice {
			return nil, usagef("%s %s is given twice", flag, k)
		}
		m[k] = v
	}
	return m, nil
}

// A filter is what the commands that read inboxes leave out.
type filter struct{ kind, from, conversation string }

// flags gives cmd the flags of a filter.
func (f *filter) flags(a *app, cmd *cobra.Command) {
	kinds := make([]string, len(api.Kinds()))
	for i, k := range api.Kinds() {
		kinds[i] = string(k)
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "", "only this kind: "+strings.Join(kinds, ", "))
	flags.StringVar(&f.from, "from", "", "only from this `agent`")
	flags.StringVar(&f.conversation, "conversation", "", "only of this conversation `id`")
	completeFlag(cmd, "kind", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
	completeFlag(cmd, "from", a.completeAgents)
}

// read returns what the flags say; the server knows the kinds.
func (f filter) read() (kind api.Kind, from ident.Agent, conversation ident.Conversation, err error) {
	if from, err = optionalAgent(f.from); err != nil {
		return "", "", "", err
	}
	if f.conversation != "" {
		if conversation, err = ident.ParseConversation(f.conversation); err != nil {
			return "", "", "", usage{err}
		}
	}
	return api.Kind(f.kind), from, conversation, nil
}
