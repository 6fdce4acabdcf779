package pii

import (
	"net/netip"
	"regexp"
	"strings"
	"sync"
)

// checks are what rules.json may demand of a match. Each returns where in the
// match the value is. If there is none, from is to: how much of the match holds
// no value, or 0 if another one may begin behind the first word.
var checks = map[string]func(match string) (from, to int){
	"":                    func(m string) (int, int) { return 0, len(m) },
	"card":                card,
	"iban":                iban,
	"ip":                  ip,
	"ssn":                 ssn,
	"named ssn":           namedSSN,
	"international phone": internationalPhone,
	"national phone":      nationalPhone,
	"announced phone":     announcedPhone,
}

// digits returns the digits of s, and behind which byte of s each stands.
func digits(s string) (d string, ends []int) {
	var b strings.Builder
	for i := range len(s) {
		if isDigit(s[i]) {
			b.WriteByte(s[i])
			ends = append(ends, i+1)
		}
	}
	return b.String(), ends
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// brands are payment cards by their first digits, with their lengths.
var brands = []struct {
	from, to string // of as many digits
	lengths  []int
}{
	{"34", "34", []int{15}},
	{"37", "37", []int{15}},
	{"300", "305", []int{14}},
	{"36", "36", []int{14}},
	{"38", "39", []int{14}},
	{"3528", "3589", []int{16}},
	{"4", "4", []int{19, 16, 13}},
	{"2221", "2720", []int{16}},
	{"50", "59", []int{16}},
	{"6011", "6011", []int{19, 16}},
	{"62", "62", []int{19, 18, 17, 16}},
	{"60", "69", []int{16}},
}

// card finds the first card's number in a run of digits: of whole groups, with a
// space or an end of the run at both ends.
func card(m string) (int, int) {
	d, ends := digits(m)
	free := func(i int) bool { return i == 0 || i == len(d) || m[ends[i-1]] == ' ' } // between the digits i-1 and i
	for i := range d {
		if !free(i) {
			continue
		}
		for _, b := range brands {
			if first := d[i:min(i+len(b.from), len(d))]; first < b.from || first > b.to {
				continue
			}
			for _, n := range b.lengths {
				if i+n <= len(d) && free(i+n) && luhn(d[i:i+n]) {
					return ends[i] - 1, ends[i+n-1]
				}
			}
		}
	}
	return len(m), len(m)
}

func luhn(d string) bool {
	sum := 0
	for i := range len(d) {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

// ibanLengths are those of the IBAN registry, by country.
const ibanLengths = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 " +
	"FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 " +
	"MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"

func iban(m string) (int, int) {
	upper := strings.ToUpper(m)
	at := strings.Index(ibanLengths, upper[:2])
	if at < 0 || at%5 != 0 {
		return 0, 0
	}
	want := int(ibanLengths[at+2]-'0')*10 + int(ibanLengths[at+3]-'0')
	var c []byte
	end := 0
	for ; end < len(m) && len(c) < want; end++ {
		if isWord(m[end]) {
			c = append(c, upper[end])
		}
	}
	if len(c) < want || end < len(m) && isWord(m[end]) {
		return 0, 0
	}
	mod := 0
	for _, b := range append(c[4:], c[:4]...) {
		if isDigit(b) {
			mod = (mod*10 + int(b-'0')) % 97
		} else {
			mod = (mod*100 + int(b-'A') + 10) % 97
		}
	}
	if mod != 1 {
		return 0, 0
	}
	return 0, end
}

func ip(m string) (int, int) {
	if _, err := netip.ParseAddr(m); err != nil || !strings.ContainsAny(m, "0123456789") {
		return 0, 0
	}
	return 0, len(m)
}

// ssn refuses what was never given out as a number.
func ssn(m string) (int, int) {
	d, _ := digits(m)
	if area := d[:3]; area == "000" || area == "666" || area[0] == '9' || d[3:5] == "00" || d[5:] == "0000" {
		return 0, 0
	}
	return 0, len(m)
}

func namedSSN(m string) (int, int) {
	from := len(m) - 9
	if _, to := ssn(m[from:]); to == 0 {
		return 0, 0
	}
	return from, len(m)
}

// internationalPhone takes a number with a country's calling code whose rest is
// a number there. Groups at the end that are none of it are left out.
func internationalPhone(m string) (int, int) {
	rest := strings.TrimPrefix(strings.TrimPrefix(m, "+"), "\uff0b")
	if rest == m {
		rest = strings.TrimPrefix(m, "00")
	}
	lead := len(m) - len(rest)
	plain := strings.Replace(rest, "(0)", "   ", 1) // in many countries' form, to be left out by callers from abroad
	d, ends := digits(plain)
	for n := len(d); n >= 7; n-- {
		if n < len(d) && ends[n]-ends[n-1] == 1 {
			continue // within a group
		}
		if isInternational(d[:n]) {
			return 0, lead + ends[n-1]
		}
	}
	return 0, 0
}

func isInternational(d string) bool {
	if len(d) > 15 {
		return false
	}
	for n := 1; n <= 3; n++ {
		if p := phones()[d[:n]]; p != nil {
			return p.matches(d[n:])
		}
	}
	return false
}

// date begins with a day and a month, in either order, and a year.
var date = regexp.MustCompile(`^[0-3]?[0-9](?:/[0-3]?[0-9]/|-[0-3]?[0-9]-|\.[0-3]?[0-9]\.)(?:[0-9]{2}|[12][0-9]{3})(?:[^0-9./-]|$)|` +
	`^[0-3]?[0-9] [0-3]?[0-9] (?:19|20)[0-9]{2}(?:[^0-9./-]|$)`)

// nationalPhone takes what begins with a zero if it is a number in a country
// that puts one in front.
func nationalPhone(m string) (int, int) {
	if date.MatchString(m) {
		return 0, 0
	}
	d, ends := digits(m)
	for n := min(len(d), 12); n >= 8; n-- {
		if n < len(d) && ends[n]-ends[n-1] == 1 || n < 10 && ends[n-1]-ends[0] == n-1 {
			continue // within a group; one short group
		}
		for _, code := range trunkZero {
			if phones()[code].matches(d[:n]) {
				return 0, ends[n-1]
			}
		}
	}
	return 0, 0
}

// trunkZero are calling codes of countries where a leading zero stands for the long distance.
var trunkZero = []string{"44", "49", "33", "39", "31", "32", "41", "43", "46", "358", "353", "61", "64", "91", "81", "82", "86", "27", "90", "55", "972", "30", "40", "380"}

func announcedPhone(m string) (int, int) {
	from := strings.IndexAny(m, "(0123456789")
	d, _ := digits(m[from:])
	if len(d) < 7 || len(d) > 15 {
		return 0, 0
	}
	return from, len(m)
}

// A numbering is what national numbers look like behind a calling code.
type numbering struct {
	trunk   string // what is dialled in front of them at home, and by some from abroad
	pattern func() *regexp.Regexp
}

// matches reports whether d is a national number, with or without its trunk prefix.
func (n numbering) matches(d string) bool {
	rest, found := strings.CutPrefix(d, n.trunk)
	return n.pattern().MatchString(d) || found && n.pattern().MatchString(rest)
}

// phones returns the numberings by calling code. A pattern is compiled when it
// is first asked for.
var phones = sync.OnceValue(func() map[string]*numbering {
	all := make(map[string]*numbering, 256)
	for line := range strings.Lines(numberings) {
		f := strings.Fields(line)
		all[f[0]] = &numbering{strings.Trim(f[1], "-"), sync.OnceValue(func() *regexp.Regexp {
			return regexp.MustCompile("^(?:" + f[2] + ")$")
		})}
	}
	return all
})
