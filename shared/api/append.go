package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// AppendJSON appends r as JSON, the envelope as it is stored.
func (r SendResponse) AppendJSON(b []byte) []byte {
	b = append(b, `{"envelope":`...)
	b = append(b, r.Envelope...)
	b = append(b, `,"seq_num":`...)
	b = strconv.AppendUint(b, r.SeqNum, 10)
	b = append(b, `,"next_cursor":`...)
	b = strconv.AppendUint(b, r.NextCursor, 10)
	b = append(b, `,"timestamp":`...)
	return append(appendTime(b, r.Timestamp), '}')
}

// AppendJSON appends p as JSON, the envelopes as they are stored: a page costs
// a copy, not an encoding.
func (p InboxPage) AppendJSON(b []byte) []byte {
	n := 0
	for _, d := range p.Deliveries {
		n += d.sizeHint()
	}
	b = slices.Grow(b, n)
	b = append(b, `{"deliveries":[`...)
	for i, d := range p.Deliveries {
		if i > 0 {
			b = append(b, ',')
		}
		b = d.AppendJSON(b)
	}
	b = append(b, `],"next_cursor":`...)
	b = strconv.AppendUint(b, p.NextCursor, 10)
	b = append(b, `,"tail":`...)
	return append(strconv.AppendUint(b, p.Tail, 10), '}')
}

// AppendJSON appends p as JSON, the envelopes as they are stored.
func (p MonitorPage) AppendJSON(b []byte) []byte {
	n := 0
	for _, d := range p.Deliveries {
		n += d.sizeHint() + 2*len(d.Cursor)
	}
	b = slices.Grow(b, n+32*len(p.Tails)+len(p.NextCursor))
	b = append(b, `{"deliveries":[`...)
	for i, d := range p.Deliveries {
		if i > 0 {
			b = append(b, ',')
		}
		b = d.AppendJSON(b)
	}
	b = append(b, `],"next_cursor":"`...)
	b = append(b, p.NextCursor...)
	b = append(b, `","tails":{`...)
	for i, agent := range slices.Sorted(maps.Keys(p.Tails)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), agent...), `":`...)
		b = strconv.AppendUint(b, p.Tails[agent], 10)
	}
	b = append(b, '}')
	if len(p.Unavailable) > 0 {
		b = appendMember(b, "unavailable", p.Unavailable)
	}
	if len(p.Gaps) > 0 {
		b = appendMember(b, "gaps", p.Gaps)
	}
	return append(b, '}')
}

// appendMember appends a member that is rare, with a comma before it.
func appendMember(b []byte, name string, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte("null") // not reached: the types always encode
	}
	return append(append(append(append(b, `,"`...), name...), `":`...), text...)
}

// AppendJSON appends d as JSON, the envelope as it is stored. Its cursor needs no escapes.
func (d MonitorDelivery) AppendJSON(b []byte) []byte {
	b = append(append(b, `{"inbox":"`...), d.Inbox...)
	b = append(append(b, `","cursor":"`...), d.Cursor...)
	return d.appendMembers(append(b, `","seq_num":`...))
}

// AppendJSON appends d as JSON, the envelope as it is stored.
func (d Delivery) AppendJSON(b []byte) []byte {
	return d.appendMembers(append(b, `{"seq_num":`...))
}

// appendMembers appends d from the value of its first member on.
func (d Delivery) appendMembers(b []byte) []byte {
	b = strconv.AppendUint(b, d.SeqNum, 10)
	b = append(b, `,"timestamp":`...)
	b = appendTime(b, d.Timestamp)
	if d.Envelope != nil {
		b = append(b, `,"envelope":`...)
		b = append(b, d.Envelope...)
	}
	if d.TraceParent != "" {
		b = append(b, `,"traceparent":`...)
		b = appendString(b, d.TraceParent)
	}
	if d.Unreadable {
		b = d.appendUnreadable(b)
	}
	return append(b, '}')
}

// appendUnreadable appends the members of a record that this version can't
// read. They are there even if empty: the reader shall see that nothing was.
func (d Delivery) appendUnreadable(b []byte) []byte {
	b = append(b, `,"unreadable":true,"headers":[`...)
	for i, h := range d.Headers {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = appendString(b, h.Name)
		b = append(b, `,"value":`...)
		b = appendString(b, h.Value)
		b = append(b, '}')
	}
	b = append(b, `],"body_base64":"`...)
	b = base64.StdEncoding.AppendEncode(b, d.BodyBase64)
	return append(b, '"')
}

// sizeHint returns about as many bytes as AppendJSON will need.
func (d Delivery) sizeHint() int {
	const around = 96 // names, numbers and times
	return around + len(d.Envelope) + len(d.TraceParent) + base64.StdEncoding.EncodedLen(len(d.BodyBase64))
}

func appendTime(b []byte, t Time) []byte {
	b, _ = t.AppendText(append(b, '"')) // never fails
	return append(b, '"')
}

// appendString appends s as a JSON string, bytes that are not UTF-8 replaced.
func appendString(b []byte, s string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return append(b, `""`...) // not reached: a string always encodes
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}
