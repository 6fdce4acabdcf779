package main

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A table has a row for each figure and a column for each number of inboxes.
type table struct {
	rows    []string
	columns []string
	units   map[string]string
	values  map[[2]string][]float64 // by row and column, one of each round
}

func (t *table) add(row, column string, v float64, unit string) {
	if t.values == nil {
		t.units, t.values = map[string]string{}, map[[2]string][]float64{}
	}
	if !slices.Contains(t.rows, row) {
		t.rows = append(t.rows, row)
		t.units[row] = unit
	}
	if !slices.Contains(t.columns, column) {
		t.columns = append(t.columns, column)
	}
	k := [2]string{row, column}
	t.values[k] = append(t.values[k], v)
}

func (t *table) write(w *bufio.Writer) {
	if len(t.rows) == 0 {
		return
	}
	slices.SortFunc(t.columns, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	fmt.Fprintf(w, "\n### The monitor by number of inboxes\n\n| | %s |\n|---|%s\n", strings.Join(t.columns, " | "), strings.Repeat("---|", len(t.columns)))
	for _, row := range t.rows {
		fmt.Fprintf(w, "| %s |", row)
		for _, column := range t.columns {
			if l := t.values[[2]string{row, column}]; len(l) > 0 {
				fmt.Fprintf(w, " %s |", shown(median(l), t.units[row]))
			} else {
				fmt.Fprint(w, " |")
			}
		}
		fmt.Fprintln(w)
	}
}

// shown returns a figure as people read it.
func shown(v float64, unit string) string {
	switch {
	case unit == "us" && v >= 10_000:
		return fmt.Sprintf("%.0f ms", v/1000)
	case unit == "us" && v >= 1000:
		return fmt.Sprintf("%.1f ms", v/1000)
	case unit == "us":
		return fmt.Sprintf("%.0f µs", v)
	case unit == "/s":
		return fmt.Sprintf("%.0f a second", v)
	case unit == "requests":
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}
