// Package openapi describes the protocol as OpenAPI 3.1, from the route table
// and the types of package api: a route or a member that is there is described,
// and no description outlives what it is of.
package openapi

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agentchat/shared/api"
	"agentchat/shared/route"
	"agentchat/shared/strictjson"
)

type object = map[string]any

// Document returns the description of a server of that version, as JSON. It is
// the same for the same version, byte for byte.
func Document(version string) []byte {
	s := &schemas{known: object{}, types: map[string]reflect.Type{}}
	paths := object{}
	for _, r := range route.Table {
		if paths[r.Path] == nil {
			paths[r.Path] = object{}
		}
		paths[r.Path].(object)[strings.ToLower(r.Method)] = s.operation(r)
	}
	b, err := strictjson.Append(nil, object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Agent Chat", "version": version,
			"description": "Durable messaging between software agents. Every agent owns an inbox; a message is acknowledged when it is durable; it can be replayed from " +
				"any position and followed live. Every failure is a problem document (RFC 9457) with a code that does not change. A repeated or unknown query parameter, an unknown " +
				"or repeated member, and null outside data are refused.",
			"license": object{"name": "Apache 2.0", "identifier": "Apache-2.0"},
		},
		"servers":    []object{{"url": "/", "description": "The server that serves this document"}},
		"tags":       tags(),
		"paths":      paths,
		"components": object{"schemas": s.known, "securitySchemes": securitySchemes(), "headers": headers(), "parameters": parameters()},
	})
	if err != nil {
		panic("openapi: " + err.Error())
	}
	return b
}

func (s *schemas) operation(r route.Route) object {
	o := object{"operationId": r.Op, "summary": r.Doc, "tags": []string{r.Family()}, "security": security(r), "responses": s.responses(r)}
	ps := []object{{"$ref": "#/components/parameters/X-Request-Id"}}
	t := reflect.TypeOf(r.Req)
	for _, f := range route.FieldsOf(t) {
		p := object{"name": f.Name, "in": string(f.In), "description": f.Doc, "schema": with(s.of(f.Type), s.bound(t.Name(), f.Name))}
		if f.IsPrefix() { // as a form has it: each entry is a parameter
			p["style"], p["explode"] = "form", true
			p["schema"] = object{
				"type": "object", "additionalProperties": false,
				"patternProperties": object{"^" + regexp.QuoteMeta(f.Name): s.of(f.Type.Elem())},
			}
		}
		if f.In == route.InPath {
			p["required"] = true
		}
		ps = append(ps, p)
	}
	o["parameters"] = ps
	if route.HasBody(t) {
		o["requestBody"] = object{"required": !r.Empty, "content": object{"application/json": s.media(t, true)}}
	}
	return o
}

// media returns the media type object of a JSON value of type t.
func (s *schemas) media(t reflect.Type, closed bool) object {
	m := object{"schema": s.named(t, closed)}
	if e, ok := examples()[t.Name()]; ok {
		m["example"] = e
	}
	return m
}

func (s *schemas) responses(r route.Route) object {
	all := object{}
	for status, header := range successes(r) {
		resp := object{"description": http.StatusText(status), "headers": object{"X-Request-Id": object{"$ref": "#/components/headers/X-Request-Id"}}}
		for name := range header {
			resp["headers"].(object)[name] = object{"$ref": "#/components/headers/" + name}
		}
		content := object{}
		if r.Resp != nil {
			content["application/json"] = s.media(reflect.TypeOf(r.Resp), false)
		}
		if r.Kind == route.Events {
			content["text/event-stream"] = streamed(r.Stream)
		}
		if len(content) > 0 {
			resp["content"] = content
		}
		all[strconv.Itoa(status)] = resp
	}
	byStatus := map[int][]string{}
	for _, c := range Codes(r) {
		status := c.Trait().Status
		if c == api.GenerationChanged && r.Access == route.Party {
			status = api.StreamChanged().Status
		}
		byStatus[status] = append(byStatus[status], string(c))
	}
	for status, codes := range byStatus {
		all[strconv.Itoa(status)] = s.refusal(r.Shape, status, codes)
	}
	return all
}

// refusal returns the answer of a status, with the codes that it can have. A shape
// other than a problem may not tell them; its description does.
func (s *schemas) refusal(shape api.Shape, status int, codes []string) object {
	slices.Sort(codes)
	if shape == nil {
		shape = api.Problem{}
	}
	schema := s.of(reflect.TypeOf(shape))
	if _, ok := shape.(api.Problem); ok {
		schema = object{"allOf": []object{schema, {"properties": object{"code": object{"enum": codes}}}}}
	}
	o := object{
		"description": fmt.Sprintf("%s: %s", http.StatusText(status), strings.Join(codes, ", ")),
		"headers":     object{"X-Request-Id": object{"$ref": "#/components/headers/X-Request-Id"}},
		"content":     object{shape.MediaType(): object{"schema": schema}},
	}
	switch status {
	case http.StatusUnauthorized:
		o["headers"].(object)["WWW-Authenticate"] = object{"$ref": "#/components/headers/WWW-Authenticate"}
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		o["headers"].(object)["Retry-After"] = object{"$ref": "#/components/headers/Retry-After"}
	}
	return o
}

// successes returns the statuses that an answer can have, with the headers that
// it then has: those that it says itself, with each of its hidden flags clear
// and set.
func successes(r route.Route) map[int]http.Header {
	switch {
	case r.Resp == nil && r.Kind == route.Events:
		return map[int]http.Header{http.StatusOK: nil}
	case r.Resp == nil:
		return map[int]http.Header{http.StatusNoContent: nil}
	}
	v := reflect.New(reflect.TypeOf(r.Resp)).Elem()
	says, ok := v.Addr().Interface().(interface{ Status() (int, http.Header) })
	if !ok {
		return map[int]http.Header{http.StatusOK: nil}
	}
	all := map[int]http.Header{}
	status, header := says.Status()
	all[status] = header
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Type.Kind() == reflect.Bool && f.Tag.Get("json") == "-" {
			v.FieldByIndex(f.Index).SetBool(true)
			status, header = says.Status()
			all[status] = header
			v.FieldByIndex(f.Index).SetBool(false)
		}
	}
	return all
}

func security(r route.Route) []object {
	all := []object{}
	switch r.Access {
	case route.Public:
		return all
	case route.Admin:
		all = append(all, object{"adminToken": []string{}})
	case route.Operator:
		all = append(all, object{"apiToken": []string{}})
	case route.Any, route.Self, route.Party:
		all = append(all, object{"apiToken": []string{}}, object{"agentKey": []string{}})
	}
	if r.Keys {
		all = append(all, object{"xApiKeyHeader": []string{}}, object{"apiKeyHeader": []string{}})
	}
	return all
}
