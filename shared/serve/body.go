package serve

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/route"
	"agentchat/shared/strictjson"
)

// decode binds the whole request to q, a pointer to a struct. Who acts where the
// request says it is authorised as soon as that is read, and before anything is looked up.
func (c *call) decode(q any) error {
	v, bind := reflect.ValueOf(q).Elem(), c.endpoint.bind
	if err := bind.bindPath(v, c.endpoint.segments, c.segments); err != nil {
		return err
	}
	var err error
	if c.query, err = bind.bindQuery(v, c.r.URL.RawQuery); err != nil {
		return err
	}
	if err := bind.bindHeader(v, c.r.Header); err != nil {
		return err
	}
	if !bind.hasBody {
		if err := c.authoriseActor(q); err != nil {
			return err
		}
	}
	if err := c.bindBody(q); err != nil || !bind.hasBody {
		return err
	}
	return c.authoriseActor(q)
}

// authoriseActor decides on a Party route on who acts.
func (c *call) authoriseActor(q any) error {
	if c.endpoint.route.Access != route.Party {
		return nil
	}
	actor := q.(route.Acts).Actor() // the table's test sees to it that it has one
	switch {
	case actor == "" && c.endpoint.bind.hasBody:
		return api.InvalidField("/agent_id", "who acts is missing; name the agent")
	case actor == "":
		return api.InvalidParameter("agent_id", "who acts is missing; name the agent")
	}
	return c.by.May(c.endpoint.route, actor)
}

func (c *call) bindBody(q any) error {
	bind := c.endpoint.bind
	buf := c.buffer() // nothing that is decoded refers to it
	defer c.release(buf)
	body, err := c.body(buf)
	if err != nil {
		return err
	}
	if len(body) == 0 && bind.mayBeEmpty {
		return nil
	}
	if len(body) > 0 {
		if err := checkMediaType(c.r.Header); err != nil {
			return err
		}
	}
	err = strictjson.Decode(body, q)
	// {} is let through where there should be nothing, because some clients always send it.
	if e, ok := errors.AsType[*api.Error](err); ok && !bind.hasBody {
		e.Detail = "this operation takes no body"
	}
	return err
}

// body reads the request's body into buf, whatever its declared length says. Too
// large is told before anything else about it.
func (c *call) body(buf *[]byte) ([]byte, error) {
	if c.r.Body == nil || c.r.Body == http.NoBody {
		return nil, nil
	}
	if c.r.ContentLength > api.MaxBodyBytes {
		return nil, tooLarge()
	}
	_ = c.out.SetReadDeadline(time.Now().Add(readTime))
	b := bytes.NewBuffer(*buf)
	// A declared length is a promise, not a reason to reserve so much.
	b.Grow(int(min(max(c.r.ContentLength, 0), 64<<10)) + bytes.MinRead)
	_, err := b.ReadFrom(http.MaxBytesReader(c.w.ResponseWriter, c.r.Body, api.MaxBodyBytes))
	*buf = b.Bytes()
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge()
	}
	if err != nil {
		c.w.Header().Set("Connection", "close")
		return nil, api.Errorf(api.InvalidJSON, "the body broke off, or did not come within %v", readTime).Because(err)
	}
	return *buf, nil
}

func tooLarge() error {
	return api.Errorf(api.BodyTooLarge, "the body is larger than %d bytes", api.MaxBodyBytes)
}

// checkMediaType refuses a body that does not say that it is JSON as it stands.
// One that says nothing is taken as JSON.
func checkMediaType(h http.Header) error {
	// Given twice it is a list, and what only begins with identity is coded.
	if coding := strings.Join(h["Content-Encoding"], ", "); coding != "" && !strings.EqualFold(coding, "identity") {
		return api.Errorf(api.UnsupportedMediaType, "send the body without Content-Encoding")
	}
	types := h["Content-Type"]
	if len(types) == 0 || len(types) == 1 && (types[0] == "" || types[0] == "application/json") {
		return nil
	}
	if len(types) == 1 {
		t, params, err := mime.ParseMediaType(types[0])
		charset, ok := params["charset"]
		isJSON := t == "application/json" || strings.HasPrefix(t, "application/") && strings.HasSuffix(t, "+json")
		if err == nil && isJSON && (!ok || strings.EqualFold(charset, "utf-8")) {
			return nil
		}
	}
	return api.Errorf(api.UnsupportedMediaType, "send the body as application/json, or any application/...+json, in UTF-8")
}
