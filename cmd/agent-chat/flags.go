package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// takes checks how many arguments there are, and says what the command takes.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if least <= len(args) && len(args) <= most {
			return nil
		}
		got := strconv.Itoa(len(args)) + " arguments"
		if len(args) == 1 {
			got = "1 argument"
		}
		return fmt.Errorf("%s; the command is: %s", got, cmd.UseLine())
	}
}

// anyNumber is no upper bound.
const anyNumber = math.MaxInt

// explainNumber says of a flag's value that is no number what it should be.
func explainNumber(err error) error {
	e, ok := errors.AsType[*strconv.NumError](err)
	if !ok {
		return err
	}
	what, _, _ := strings.Cut(err.Error(), ": strconv.")
	if errors.Is(e, strconv.ErrRange) {
		return fmt.Errorf("%s: out of range", what)
	}
	return fmt.Errorf("%s: not a whole number", what)
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
