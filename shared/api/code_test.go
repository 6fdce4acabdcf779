package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
)

// TestCodes: Codes lists every constant of type Code, each once, in the order
// of their statuses.
func TestCodes(t *testing.T) {
	declared := constants[api.Code](t, "code.go", "Code")
	listed := api.Codes()
	status := func(a, b api.Code) int { return a.Trait().Status - b.Trait().Status }
	if !slices.IsSortedFunc(listed, status) {
		t.Error("Codes are not in the order of their statuses")
	}
	slices.Sort(declared)
	slices.Sort(listed)
	if diff := cmp.Diff(declared, listed); diff != "" || len(declared) < 20 {
		t.Errorf("Codes (-constants +listed):\n%s", diff)
	}
	if len(slices.Compact(slices.Clone(listed))) != len(listed) {
		t.Error("two codes are the same word")
	}
}

// TestKinds: Kinds lists every constant of type Kind.
func TestKinds(t *testing.T) {
	if diff := cmp.Diff(constants[api.Kind](t, "messages.go", "Kind"), api.Kinds()); diff != "" {
		t.Errorf("Kinds (-constants +listed):\n%s", diff)
	}
}

// TestEnumerations: each list of a type's words has every one of them.
func TestEnumerations(t *testing.T) {
	if diff := cmp.Diff(constants[api.ContactKind](t, "contacts.go", "ContactKind"), api.ContactKinds()); diff != "" {
		t.Errorf("ContactKinds (-constants +listed):\n%s", diff)
	}
	if diff := cmp.Diff(constants[api.ReceiptStatus](t, "receipts.go", "ReceiptStatus"), api.ReceiptStatuses()); diff != "" {
		t.Errorf("ReceiptStatuses (-constants +listed):\n%s", diff)
	}
}

// TestChatWords: each list of a chat's words has every one of them.
func TestChatWords(t *testing.T) {
	if diff := cmp.Diff(constants[api.Permission](t, "chats.go", "Permission"), api.Permissions()); diff != "" {
		t.Errorf("Permissions (-constants +listed):\n%s", diff)
	}
	if diff := cmp.Diff(constants[api.PIIPolicy](t, "chats.go", "PIIPolicy"), api.PIIPolicies()); diff != "" {
		t.Errorf("PIIPolicies (-constants +listed):\n%s", diff)
	}
	if diff := cmp.Diff(constants[api.OperationOutcome](t, "chats.go", "OperationOutcome"), api.OperationOutcomes()); diff != "" {
		t.Errorf("OperationOutcomes (-constants +listed):\n%s", diff)
	}
}

// constants returns the values of the string constants of a type that a file declares.
func constants[T ~string](t *testing.T, name, typ string) (values []T) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == typ {
			for _, v := range spec.Values {
				s, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, T(s))
			}
		}
		return true
	})
	return values
}

func TestTrait(t *testing.T) {
	word := regexp.MustCompile(`\A[a-z]+(_[a-z]+)*\z`)
	fallback := api.Code("no such code").Trait()
	if want := (api.Trait{Status: http.StatusInternalServerError, Title: api.Internal.Trait().Title}); fallback != want {
		t.Errorf("the trait of an unknown code is %+v; want %+v", fallback, want)
	}
	titles := map[string]api.Code{}
	for _, c := range api.Codes() {
		t.Run(string(c), func(t *testing.T) {
			got := c.Trait()
			if c != api.Internal && got.Title == fallback.Title {
				t.Error("has no trait of its own")
			}
			if other, taken := titles[got.Title]; taken {
				t.Errorf("has the title of %s", other)
			}
			titles[got.Title] = c
			if !word.MatchString(string(c)) || got.Title == "" {
				t.Errorf("title %q; want a title, and a code of lower-case words", got.Title)
			}
			if got.Status < 400 || http.StatusText(got.Status) == "" {
				t.Errorf("status %d; want one of a failure", got.Status)
			}
			if got.Retry && got.Unknown {
				t.Error("has Retry and Unknown; want one at most: what may have been written is repeated with the same id only")
			}
			// 429 and 503 say when to come again, unless the outcome is unknown; nothing else does.
			busy := got.Status == http.StatusTooManyRequests || got.Status == http.StatusServiceUnavailable
			if (got.Retry || got.Unknown) != busy {
				t.Errorf("status %d with Retry %v and Unknown %v", got.Status, got.Retry, got.Unknown)
			}
		})
	}
}
