package functions_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/functions"
	"agentchat/shared/route"
)

// The families of the registry are the folders here and the families of the table.
func TestRegistry(t *testing.T) {
	handlers, err := filepath.Glob("*/handler.go")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, h := range handlers {
		folders = append(folders, filepath.Dir(h))
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "testdata" && !slices.Contains(folders, e.Name()) {
			t.Errorf("the folder %s has no handler.go", e.Name())
		}
	}
	if diff := cmp.Diff(folders, slices.Sorted(maps.Keys(functions.Families()))); diff != "" {
		t.Errorf("folders (-), registry (+):\n%s", diff)
	}
	if diff := cmp.Diff(folders, slices.Sorted(maps.Keys(route.Families))); diff != "" {
		t.Errorf("folders (-), table (+):\n%s", diff)
	}
}
