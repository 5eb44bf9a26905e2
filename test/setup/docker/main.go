// Command docker is the little of the Docker API that setting up needs, so
// that no docker command has to be installed: Debian has it in a package of
// its own.
//
//	docker ping [-wait 2s]           the engine answers
//	docker has IMAGE                 the image is there (else exit code 1)
//	docker pull [-wait 20s] IMAGE    fetch it, within the given time
//	docker import IMAGE < rootfs.tar make it from a root file system
//
// It uses the engine that DOCKER_HOST names, else the default socket.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/jsonmessage"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdin io.Reader) error {
	if len(args) == 0 {
		return errors.New("usage: docker ping|has|pull|import")
	}
	verb := args[0]
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	wait := flags.Duration("wait", 10*time.Minute, "how long it may take")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *wait)
	defer cancel()

	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return err
	}
	defer api.Close()

	ref := flags.Arg(0)
	if verb != "ping" && ref == "" {
		return fmt.Errorf("usage: docker %s IMAGE", verb)
	}
	switch verb {
	case "ping":
		_, err := api.Ping(ctx)
		return err
	case "has":
		_, err := api.ImageInspect(ctx, ref)
		return err
	case "pull":
		return pull(ctx, api, ref)
	case "import":
		return importRoot(ctx, api, ref, stdin)
	}
	return fmt.Errorf("unknown verb %q", verb)
}

func pull(ctx context.Context, api *client.Client, ref string) error {
	progress, err := api.ImagePull(ctx, ref, image.PullOptions{})
	if err != nil {
		return err
	}
	defer progress.Close()
	return jsonmessage.DisplayJSONMessagesStream(progress, io.Discard, 0, false, nil)
}

// importRoot makes an image that runs Python like the official one: python3 is
// on the path, and is what a container starts.
func importRoot(ctx context.Context, api *client.Client, ref string, root io.Reader) error {
	progress, err := api.ImageImport(ctx, image.ImportSource{Source: root, SourceName: "-"}, ref, image.ImportOptions{
		Changes: []string{
			"ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin",
			`CMD ["python3"]`,
		},
	})
	if err != nil {
		return err
	}
	defer progress.Close()
	return jsonmessage.DisplayJSONMessagesStream(progress, io.Discard, 0, false, nil)
}
