package main

import (
	"regexp"
	"slices"
	"strings"

	"agentchat/shared/route"
)

// A behaviour sends what matches a path pattern of CloudFront's to a family.
// What anybody may keep, Fresh seconds long, CloudFront keeps too.
type behaviour struct {
	Pattern, Family string
	Fresh           int
}

// fallback is the family that answers what no pattern matches, with its 404.
const fallback = "service"

var param = regexp.MustCompile(`\{[a-z]+\}`)

// behaviours returns one behaviour for each path of the table, in the order in
// which CloudFront must try them.
//
// The * of a pattern matches slashes too. A pattern of n segments has n slashes
// of its own, so a path of n segments is matched by patterns of n or fewer: with
// the longer ones first, a path meets the patterns of its own length before any
// other, and there each * stands for one segment, as {id} does for net/http.
// Where two of one length differ, the literal goes before the *.
func behaviours(table []route.Route) []behaviour {
	var all []behaviour
	for _, r := range table {
		all = append(all, behaviour{param.ReplaceAllString(r.Path, "*"), r.Family(), r.Fresh})
	}
	slices.SortFunc(all, func(a, b behaviour) int {
		if d := strings.Count(b.Pattern, "/") - strings.Count(a.Pattern, "/"); d != 0 {
			return d
		}
		as, bs := strings.Split(a.Pattern, "/"), strings.Split(b.Pattern, "/")
		for i := range as {
			if wild := as[i] == "*"; wild != (bs[i] == "*") {
				if wild {
					return 1
				}
				return -1
			}
		}
		return strings.Compare(a.Pattern, b.Pattern)
	})
	return slices.Compact(all) // several methods of a path
}
