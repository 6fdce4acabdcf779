package api

import "encoding/json"

// An OrNull is a value, or null on the wire: that there is none. A request may
// leave it out as well.
type OrNull[T any] struct {
	Value T
	Set   bool
}

// Some returns v as a value that is there.
func Some[T any](v T) OrNull[T] { return OrNull[T]{Value: v, Set: true} }

// TakesNull marks the type for package strictjson, which refuses null elsewhere.
func (OrNull[T]) TakesNull() {}

// IsZero reports that there is no value.
func (o OrNull[T]) IsZero() bool { return !o.Set }

// MarshalJSON returns the value, or null.
func (o OrNull[T]) MarshalJSON() ([]byte, error) {
	if !o.Set {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// UnmarshalJSON reads the value, or null.
func (o *OrNull[T]) UnmarshalJSON(b []byte) error {
	*o = OrNull[T]{}
	if string(b) == "null" {
		return nil
	}
	if err := json.Unmarshal(b, &o.Value); err != nil {
		return err
	}
	o.Set = true
	return nil
}
