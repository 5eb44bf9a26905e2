//go:build unix

package downstream

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAServerRunsInItsFolder(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	config := fakeConfig(t, "legacy")
	config.Cwd = folder
	if got := callText(t, connected(t, config), "folder", "{}"); got != folder {
		t.Errorf("runs in %s, want %s", got, folder)
	}

	config.Command = "./" + filepath.Base(config.Command)
	if err := os.Symlink(fakeConfig(t, "").Command, filepath.Join(folder, config.Command)); err != nil {
		t.Fatal(err)
	}
	if got := callText(t, connected(t, config), "folder", "{}"); got != folder {
		t.Errorf("a command in it runs in %s, want %s", got, folder)
	}

	config.Cwd = filepath.Join(folder, "absent")
	if st := startSession(t, config).Status(); st.State == Connected || st.Err == nil || !strings.Contains(st.Err.Error(), "absent is not there") {
		t.Errorf("in a folder that is not there: %+v", st)
	}
}

func TestOnlyToolsThatAreOfferedAreListed(t *testing.T) {
	all := names(connected(t, fakeConfig(t, "legacy pages")).Status().Tools)
	tests := map[string]struct{ allow, block, want []string }{
		"some are allowed":           {allow: all[1:3], want: all[1:3]},
		"some are blocked":           {block: all[:1], want: all[1:]},
		"blocked wins":               {allow: all[:2], block: all[:1], want: all[1:2]},
		"names that are not there":   {block: []string{"absent"}, want: all},
		"nothing of what is allowed": {allow: []string{"absent"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config := fakeConfig(t, "legacy pages")
			config.AllowTools, config.BlockTools = test.allow, test.block
			if got := names(connected(t, config).Status().Tools); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestRemovingAServerEndsItsCallsWithTheReason(t *testing.T) {
	s := connected(t, fakeConfig(t, "legacy"))
	failed := make(chan error)
	go func() {
		_, err := s.Call(patient(t), "never", nil)
		failed <- err
	}()
	reason := errors.New("nobody wants it any more")
	// The call may not have begun; then nothing was sent.
	if err := s.Remove(reason); err != nil {
		t.Error(err)
	}
	select {
	case err := <-failed:
		if !errors.Is(err, reason) || !errors.Is(err, ErrLost) && !errors.Is(err, ErrDown) {
			t.Errorf("the call ended with %v", err)
		}
	case <-patient(t).Done():
		t.Fatal("the call did not end")
	}
	if _, err := s.Call(patient(t), "never", nil); !errors.Is(err, ErrDown) || !errors.Is(err, reason) {
		t.Errorf("a later call ended with %v", err)
	}
	if st := s.Status(); st.State != Down || !errors.Is(st.Err, reason) {
		t.Errorf("status: %v, %v", st.State, st.Err)
	}
}
