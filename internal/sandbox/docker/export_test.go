package docker

import (
	"context"
	"strconv"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"
)

// SetProgram makes the backend boot a Python program in place of the runner.
func (b *Backend) SetProgram(program string) {
	b.command = []string{"python3", "-I", "-S", "-B", "-c", program}
}

// EngineClient returns a client of the engine under test.
func EngineClient(t testing.TB) *client.Client {
	t.Helper()
	b := New(Config{Logger: nil})
	places, err := endpoints("", b.env)
	if err != nil {
		t.Fatal(err)
	}
	e, err := firstToAnswer(places)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.client.Close() })
	return e.client
}

// Containers lists the containers that this process owns.
func Containers(t testing.TB) []string {
	t.Helper()
	return ContainersOf(t, self().pid)
}

// ContainersOf lists the containers that a process owns, or owned.
func ContainersOf(t testing.TB, pid int) []string {
	t.Helper()
	found, err := EngineClient(t).ContainerList(context.Background(), container.ListOptions{
		All:     true,
		Filters: filters.NewArgs(filters.Arg("label", labelPID+"="+strconv.Itoa(pid))),
	})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, c := range found {
		list = append(list, c.Names[0]+" "+c.State)
	}
	return list
}
