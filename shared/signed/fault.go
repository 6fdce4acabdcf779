package signed

import "fmt"

// A Reason says why a record is refused. Reasons are stable; they stand in the
// test vectors and in what a verifier prints.
type Reason string

// The reasons, in the order in which they are looked for.
const (
	Malformed        Reason = "malformed"         // not the one form that such a record has
	ControlCharacter Reason = "control_character" // in a field that is signed
	Mismatch         Reason = "mismatch"          // two places say different things of one thing
	WrongHash        Reason = "wrong_hash"        // contentSha256 is not that of the content
	UnknownKey       Reason = "unknown_key"       // no such kid in the key set
	WrongAlgorithm   Reason = "wrong_algorithm"   // not the key's, or not for records
	RevokedKey       Reason = "revoked_key"
	KeyTime          Reason = "key_time"       // signed before or after the key's time
	SignatureForm    Reason = "signature_form" // not 64 bytes in base64url
	WrongSignature   Reason = "wrong_signature"
	StoreTime        Reason = "store_time" // signed more than 5 minutes from when it was stored
)

// A Fault is why something is refused. Its text names what is wrong, and quotes
// nothing that could be long, secret or not printable.
type Fault struct {
	Reason Reason
	Detail string
}

func (f *Fault) Error() string { return string(f.Reason) + ": " + f.Detail }

func faultf(r Reason, format string, args ...any) *Fault {
	return &Fault{r, fmt.Sprintf(format, args...)}
}
