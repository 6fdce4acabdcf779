package pii

import (
	"unicode"
	"unicode/utf8"
)

// plain returns text in the characters that rules.json knows: spaces that don't
// break or are of another width, hyphens, digits of other scripts and
// fullwidth forms are those of ASCII, and what is not seen is left out. at[i] is
// where in text the byte i of it comes from. at is nil if text is plain.
func plain(text string) (_ string, at []int) {
	var b []byte
	for i := 0; i < len(text); {
		r, width := utf8.DecodeRuneInString(text[i:])
		c, seen := ascii(r), !invisible(r)
		if (c != 0 || !seen) && at == nil {
			b, at = append(make([]byte, 0, len(text)), text[:i]...), make([]int, i, len(text)+1)
			for j := range at {
				at[j] = j
			}
		}
		switch {
		case c != 0:
			b, at = append(b, c), append(at, i)
		case at != nil && seen:
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

// behind returns where in text the character ends of which a last byte is at i of
// it: at[end-1] of a value in plain text, for what is not seen behind a value is no
// part of it.
func behind(text string, i int) int {
	_, width := utf8.DecodeRuneInString(text[i:]) // 1 within a character
	return i + width
}

// invisible reports whether r is shown as nothing: the default ignorable code
// points of Unicode, as the joiners and spaces of no width, the soft hyphen, marks
// of direction and variation selectors. People write them between letters and
// emoji, where they find nothing; between the digits of a number they hide it.
func invisible(r rune) bool {
	return r >= 0xad && unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) &&
		!unicode.In(r, unicode.Prepended_Concatenation_Mark, unicode.Lo) // signs of Arabic and others that are seen; fillers that are letters
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
