// report merges the output of several rounds of peers into the tables of
// docs/performance.md: of each line the median over the rounds.
//
//	report FILE... >tables.md
package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	rateLine   = regexp.MustCompile(`^(\S+)\s+(.*\S)\s+(\d+)/s \[\d+\.\.\d+\]\s+p50\s+(\d+)us\s+p99\s+(\d+)us`)
	scaleLine  = regexp.MustCompile(`^monitor of (\d+) inboxes  (.*\S): ([\d.]+) (\S+)$`)
	figureLine = regexp.MustCompile(`^(\S+)\s+(.*\S): ([\d.]+) (us|KiB|MiB)$`)
)

// A cell is what the rounds measured of one server in one discipline.
type cell struct{ rate, p50, p99, figure []float64 }

type tables struct {
	disciplines, servers []string
	units                map[string]string
	cells                map[[2]string]*cell // by discipline and server
	scale                table
}

func main() {
	t := tables{units: map[string]string{}, cells: map[[2]string]*cell{}}
	for _, name := range os.Args[1:] {
		if err := t.read(name); err != nil {
			fmt.Fprintln(os.Stderr, "report:", err)
			os.Exit(1)
		}
	}
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	for _, d := range t.disciplines {
		t.write(w, d)
	}
	t.scale.write(w)
}

func (t *tables) read(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m := scaleLine.FindStringSubmatch(lines.Text()); m != nil {
			t.scale.add(m[2], m[1], number(m[3]), m[4])
		} else if m := rateLine.FindStringSubmatch(lines.Text()); m != nil {
			c := t.at(m[2], m[1])
			c.rate, c.p50, c.p99 = append(c.rate, number(m[3])), append(c.p50, number(m[4])), append(c.p99, number(m[5]))
		} else if m := figureLine.FindStringSubmatch(lines.Text()); m != nil {
			c := t.at(m[2], m[1])
			c.figure = append(c.figure, number(m[3]))
			t.units[m[2]] = m[4]
		}
	}
	return lines.Err()
}

func (t *tables) at(discipline, server string) *cell {
	if !slices.Contains(t.disciplines, discipline) {
		t.disciplines = append(t.disciplines, discipline)
	}
	if !slices.Contains(t.servers, server) {
		t.servers = append(t.servers, server)
	}
	k := [2]string{discipline, server}
	if t.cells[k] == nil {
		t.cells[k] = &cell{}
	}
	return t.cells[k]
}

func (t *tables) write(w *bufio.Writer, discipline string) {
	paced := strings.Contains(discipline, "@") // the rate is given, the latency is measured
	product := t.cells[[2]string{discipline, "product"}]
	unit, isFigure := t.units[discipline]
	fmt.Fprintf(w, "\n### %s\n\n", strings.ToUpper(discipline[:1])+discipline[1:])
	if isFigure {
		fmt.Fprintf(w, "| server | %s |\n|---|---|\n", strings.Replace(unit, "us", "µs", 1))
	} else {
		of := "rate"
		if paced {
			of = "p50"
		}
		fmt.Fprintf(w, "| server | a second | p50 µs | p99 µs | %s of product is |\n|---|---|---|---|---|\n", of)
	}
	for _, s := range t.servers {
		c := t.cells[[2]string{discipline, s}]
		switch {
		case c == nil:
		case isFigure:
			fmt.Fprintf(w, "| %s | %.1f |\n", s, median(c.figure))
		default:
			ratio := ""
			if product != nil && s != "product" {
				ratio = fmt.Sprintf("%.2f x", median(product.rate)/median(c.rate))
				if paced {
					ratio = fmt.Sprintf("%.2f x", median(product.p50)/median(c.p50))
				}
			}
			fmt.Fprintf(w, "| %s | %.0f | %.0f | %.0f | %s |\n", s, median(c.rate), median(c.p50), median(c.p99), ratio)
		}
	}
}

func median(l []float64) float64 {
	l = slices.Sorted(slices.Values(l))
	return l[len(l)/2]
}

func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return v
}
