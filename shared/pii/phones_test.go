package pii_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"

	"agentchat/shared/pii"
)

var update = flag.Bool("update", false, "write phones.go anew, from the metadata of the library")

// phones.go is what libphonenumber's metadata says of each calling code. The
// library itself would add 2.6 MB to a function and 20 ms to the start of every
// process, since it reads all of its metadata when it is linked.
func TestPhonePatterns(t *testing.T) {
	all, err := phonenumbers.MetadataCollection()
	if err != nil {
		t.Fatal(err)
	}
	patterns, trunk := map[int][]string{}, map[int]string{}
	for _, m := range all.GetMetadata() {
		code := int(m.GetCountryCode())
		if m.GetMainCountryForCode() || trunk[code] == "" {
			trunk[code] = cmp.Or(m.GetNationalPrefix(), "-")
		}
		if p := m.GetGeneralDesc().GetNationalNumberPattern(); !slices.Contains(patterns[code], p) {
			patterns[code] = append(patterns[code], p)
		}
	}
	var want bytes.Buffer
	want.WriteString("// Code generated from the metadata of libphonenumber by go test ./shared/pii -update; DO NOT EDIT.\n\npackage pii\n\n" +
		"// numberings says of each calling code what is dialled in front of national\n// numbers at home (-: nothing), and what they are, as a regular expression.\nconst numberings = `")
	for _, code := range slices.SortedFunc(maps.Keys(patterns), cmp.Compare[int]) {
		slices.Sort(patterns[code])
		fmt.Fprintf(&want, "%d %s %s\n", code, trunk[code], strings.Join(patterns[code], "|"))
	}
	want.WriteString("`\n")
	if *update {
		if err := os.WriteFile("phones.go", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile("phones.go"); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("phones.go is not what the library's metadata says (%v); run with -update", err)
	}
}

// The library's example of a number of each country is found as it is written
// for other countries, and as it is written there, where that begins with a zero
// or is North American.
func TestPhonesOfAllCountries(t *testing.T) {
	found := map[string]int{}
	for region := range phonenumbers.GetSupportedRegions() {
		n := phonenumbers.GetExampleNumber(region)
		if n == nil {
			continue
		}
		for name, format := range map[string]phonenumbers.PhoneNumberFormat{"E.164": phonenumbers.E164, "international": phonenumbers.INTERNATIONAL} {
			if !isPhone(phonenumbers.Format(n, format)) {
				t.Errorf("%s: %s is not found in the %s form", region, phonenumbers.Format(n, format), name)
			}
			found[name]++
		}
		national := phonenumbers.Format(n, phonenumbers.NATIONAL)
		if n.GetCountryCode() == 1 || slices.Contains([]string{"GB", "DE", "FR", "IT", "NL", "BE", "CH", "AT", "SE", "FI", "IE", "AU", "NZ", "IN", "JP", "CN", "ZA", "TR", "VN"}, region) {
			if !isPhone(national) {
				t.Errorf("%s: %s is not found", region, national)
			}
			found["national"]++
		}
	}
	if found["E.164"] < 200 || found["national"] < 30 {
		t.Errorf("examples: %v; want more", found)
	}
}

func isPhone(s string) bool {
	text := "Ring " + s + "."
	got := pii.Find(text)
	return len(got) == 1 && got[0] == pii.Finding{Type: "phone", Start: 5, End: 5 + len(s)}
}

// What is a number by the library is found, and what is found is possible. Those
// of Norfolk Island, which the library completes, and short ones of North America
// are left out.
func TestPhonesAgree(t *testing.T) {
	agree := 0
	for code := 1; code < 1000; code++ {
		for _, rest := range []string{"2", "212345", "5551234567", "123456789", "700123456", "9123456789", "31234567", "80012345678"} {
			s := "+" + strconv.Itoa(code) + rest
			n, err := phonenumbers.Parse(s, "")
			if n.GetCountryCode() == 672 {
				continue
			}
			want := err == nil && phonenumbers.IsValidNumber(n)
			if want && !isPhone(s) {
				t.Errorf("%s is a number and is not found", s)
			}
			if !want && n.GetCountryCode() != 1 && isPhone(s) && err == nil && !phonenumbers.IsPossibleNumber(n) {
				t.Errorf("%s is found and can't be a number", s)
			}
			if want {
				agree++
			}
		}
	}
	if agree < 200 {
		t.Errorf("%d numbers tried; want more", agree)
	}
}
