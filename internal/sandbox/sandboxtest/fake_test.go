package sandboxtest_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
)

func TestFakeRunsItsRunnerOnBothStreams(t *testing.T) {
	fake := &sandboxtest.Fake{Runner: func(channel io.ReadWriter, output io.Writer) sandbox.ExitStatus {
		in, _ := io.ReadAll(channel)
		fmt.Fprintf(channel, "frame for %s", in)
		fmt.Fprint(output, "printed")
		return sandbox.ExitStatus{Reason: sandbox.Exited, Code: 7}
	}}
	instance, err := fake.Start(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(instance.Channel(), "you")
	instance.Channel().Close()
	frames, _ := io.ReadAll(instance.Channel())
	output, _ := io.ReadAll(instance.Output())
	if string(frames) != "frame for you" || string(output) != "printed" {
		t.Errorf("got channel %q and output %q", frames, output)
	}
	if status, err := instance.Wait(); err != nil || status.Code != 7 {
		t.Errorf("got status %v, %v", status, err)
	}
	if fake.Open() != 1 {
		t.Errorf("%d open before Close, want 1", fake.Open())
	}
	for range 2 {
		if err := instance.Close(); err != nil {
			t.Error(err)
		}
	}
	if fake.Open() != 0 || fake.Started() != 1 {
		t.Errorf("after Close: %d open of %d started, want 0 of 1", fake.Open(), fake.Started())
	}
}

func TestClosingAFakeKillsItAndKeepsWhatWasPrinted(t *testing.T) {
	printed := make(chan struct{})
	fake := &sandboxtest.Fake{Runner: func(channel io.ReadWriter, output io.Writer) sandbox.ExitStatus {
		fmt.Fprint(output, "before the kill")
		close(printed)
		_, err := channel.Read(make([]byte, 1))
		if err == nil {
			t.Error("read of a closed sandbox gave no error")
		}
		return sandbox.ExitStatus{}
	}}
	instance, err := fake.Start(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	<-printed
	instance.Close()
	if status, _ := instance.Wait(); status.Reason != sandbox.Killed {
		t.Errorf("got %v, want killed", status.Reason)
	}
	if output, err := io.ReadAll(instance.Output()); err != nil || string(output) != "before the kill" {
		t.Errorf("got %q, %v", output, err)
	}
}

func TestFakeCanBeUnavailable(t *testing.T) {
	fake := &sandboxtest.Fake{Unavailable: fmt.Errorf("no engine: %w", sandbox.ErrUnavailable)}
	if _, err := fake.Probe(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("Probe: got %v", err)
	}
	if _, err := fake.Start(t.Context(), sandbox.Spec{}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("Start: got %v", err)
	}
}
