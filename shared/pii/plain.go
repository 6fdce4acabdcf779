package pii

import (
	"unicode"
	"unicode/utf8"
)

// plain returns text in the characters that rules.json knows: spaces that don't
// break or are of another width, hyphens, digits of other scripts and
// fullwidth forms are those of ASCII. at[i] is where in text the byte i of it
// comes from. at is nil if text is plain.
func plain(text string) (_ string, at []int) {
	var b []byte
	for i := 0; i < len(text); {
		r, width := utf8.DecodeRuneInString(text[i:])
		c := ascii(r)
		if c != 0 && at == nil {
			b, at = append(make([]byte, 0, len(text)), text[:i]...), make([]int, i, len(text)+1)
			for j := range at {
				at[j] = j
			}
		}
		switch {
		case c != 0:
			b, at = append(b, c), append(at, i)
		case at != nil:
			for j := range width {
				b, at = append(b, text[i+j]), append(at, i+j)
			}
		}
		i += width
	}
	if at == nil {
		return text, nil
	}
	return string(b), append(at, len(text))
}

// ascii returns what stands for r in plain text; 0: r itself.
func ascii(r rune) byte {
	switch {
	case r < 0x80:
		return 0
	case r >= 0xff01 && r <= 0xff5e: // fullwidth
		return byte(r - 0xff01 + '!')
	case unicode.Is(unicode.Zs, r):
		return ' '
	case r >= '\u2010' && r <= '\u2013', r == '\u2212', r == '\ufe63': // not the long dashes, which stand between words
		return '-'
	case unicode.Is(unicode.Nd, r):
		return digit(r)
	}
	return 0
}

// digit returns the digit of ASCII that r is in another script: each has its ten
// in order, from zero.
func digit(r rune) byte {
	for _, s := range unicode.Nd.R16 {
		if r >= rune(s.Lo) && r <= rune(s.Hi) {
			return byte('0' + (r-rune(s.Lo))%10)
		}
	}
	for _, s := range unicode.Nd.R32 {
		if r >= rune(s.Lo) && r <= rune(s.Hi) {
			return byte('0' + (r-rune(s.Lo))%10)
		}
	}
	return 0
}
