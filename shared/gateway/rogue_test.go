package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"

	"agentchat/shared/lambdahost"
)

// roleVariable makes the test binary a function of that role.
const roleVariable = "AGENT_CHAT_TEST_ROLE"

// gateVariable is the URL that a function asks when it has to wait for the test.
const gateVariable = "AGENT_CHAT_TEST_GATE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(m.Run())
	case "host":
		h := &lambdahost.Host{
			Mode: lambdahost.ModeOf(os.Getenv("AGENT_CHAT_INVOKE_MODE")), Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
			Handler: func(context.Context) (http.Handler, error) { return http.HandlerFunc(wellBehaved), nil },
		}
		lambda.Start(h.Invoke)
	default:
		rogue(role)
	}
}

// wellBehaved is a handler; what it does, and where it does wrong, the query says.
func wellBehaved(w http.ResponseWriter, r *http.Request) {
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("X-Pid", strconv.Itoa(os.Getpid()))
	switch do, _, _ := strings.Cut(r.URL.RawQuery, "="); do {
	case "panic":
		panic("out of cheese")
	case "panic-late":
		fmt.Fprintln(w, "begun")
		_ = out.Flush()
		panic("out of cheese")
	case "wait": // tells that it has begun, waits for the gate, goes on and tells that it is done
		fmt.Fprintln(w, "one")
		_ = out.Flush()
		gate("wait")
		fmt.Fprintln(w, "two")
		_ = out.Flush()
		gate("done")
	case "deadline":
		fmt.Fprintln(w, "one")
		_ = out.Flush()
		<-r.Context().Done()
		fmt.Fprintln(w, "end")
	case "hang":
		fmt.Fprintln(w, "one")
		_ = out.Flush()
		select {}
	default:
		fmt.Fprintln(w, "done")
	}
}

// gate returns when the test lets it.
func gate(what string) {
	resp, err := new(http.Client).Get(os.Getenv(gateVariable) + "/" + what)
	if err != nil {
		panic(err)
	}
	_ = resp.Body.Close()
}

// rogue speaks to the Runtime API itself, and wrongly.
func rogue(role string) {
	api := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/"
	if role == "never-asks" {
		select {}
	}
	if role == "init-error" {
		post(api+"init/error", "application/json", strings.NewReader(`{"errorMessage":"no cheese","errorType":"Init.Cheese"}`))
		os.Exit(1)
	}
	last := 0 // status of the post before
	for {
		resp, err := new(http.Client).Get(api + "invocation/next")
		if err != nil {
			os.Exit(1)
		}
		id := resp.Header.Get("Lambda-Runtime-Aws-Request-Id")
		_ = resp.Body.Close()
		answer := api + "invocation/" + id + "/response"
		plain := fmt.Sprintf(`{"statusCode":200,"headers":{"X-Pid":"%d","X-Last":"%d"},"body":"done"}`, os.Getpid(), last)
		switch role {
		case "crash":
			os.Exit(3)
		case "crash-mid-stream":
			r, w := io.Pipe()
			go post(answer, streamed, r)
			_, _ = io.WriteString(w, `{"statusCode":200,"headers":{"X-Pid":"`+strconv.Itoa(os.Getpid())+`"}}`+strings.Repeat("\x00", 8)+"begun")
			gate("wait")
			os.Exit(3)
		case "crash-behind-answer":
			post(answer, "application/json", strings.NewReader(plain))
			os.Exit(3)
		case "never-answers":
			gate("wait")
			select {}
		case "skips":
		case "answers-twice":
			post(answer, "application/json", strings.NewReader(plain))
			last = post(answer, "application/json", strings.NewReader(plain))
		case "answers-another":
			last = post(api+"invocation/other/response", "application/json", strings.NewReader(plain))
			post(answer, "application/json", strings.NewReader(strings.Replace(plain, `"X-Last":"0"`, `"X-Last":"`+strconv.Itoa(last)+`"`, 1)))
		case "fails":
			post(api+"invocation/"+id+"/error", "application/json", strings.NewReader(`{"errorMessage":"no cheese `+strconv.Itoa(os.Getpid())+`"}`))
		case "huge":
			post(answer, "application/json", io.MultiReader(strings.NewReader(`{"statusCode":200,"body":"`), bytes.NewReader(bytes.Repeat([]byte("x"), 7<<20)), strings.NewReader(`"}`)))
		case "raw":
			post(answer, "application/json", strings.NewReader(`["no answer of a function URL"]`))
		case "bad-status":
			post(answer, "application/json", strings.NewReader(`{"statusCode":42}`))
		case "bad-prelude":
			post(answer, streamed, strings.NewReader(`{"statusCode":200}`+"\x00\x00\x00body"))
		case "streams-for-buffered":
			post(answer, streamed, strings.NewReader(`{"statusCode":201}`+strings.Repeat("\x00", 8)+"body"))
		default:
			panic("no role " + role)
		}
	}
}

const streamed = "application/vnd.awslambda.http-integration-response"

func post(url, contentType string, body io.Reader) int {
	resp, err := new(http.Client).Post(url, contentType, body)
	if err != nil {
		return -1
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// isMessage is what a test expects of the front's own answers.
func isMessage(body []byte) bool {
	var m map[string]string
	return json.Unmarshal(body, &m) == nil && m["Message"] != ""
}
