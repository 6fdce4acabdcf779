package main

import (
	"strings"
)

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
