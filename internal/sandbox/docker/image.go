package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// localImage is an image that the engine has.
type localImage struct {
	id      string
	volumes []string
}

// PullProgress says how far a pull has come.
type PullProgress struct {
	Image string
	// Status is the engine's word for what it does ("Downloading").
	Status string
	// Current and Total are bytes of all layers seen so far; Total grows as
	// the engine learns of more, and is 0 until it knows any.
	Current, Total int64
	// Done is true once, at the end; Err is nil when the image is there.
	Done bool
	Err  error
}

func (p PullProgress) String() string {
	if p.Total == 0 {
		return p.Status
	}
	return fmt.Sprintf("%d of %d MB", p.Current/1e6, p.Total/1e6)
}

// pulls are the pulls of one backend: at most one, shared by all who need it.
type pulls struct {
	mu      sync.Mutex
	current *pull
	pulled  bool // one has succeeded in this process
}

type pull struct {
	done     chan struct{}
	failedAt time.Time // set before done is closed
	err      error

	mu       sync.Mutex
	progress PullProgress
}

// image returns the image, pulling it if the policy says so.
func (b *Backend) image(ctx context.Context, abandoned <-chan struct{}, e *engine) (*localImage, error) {
	if b.config.Pull == PullAlways && !b.pulls.succeeded() {
		if err := b.waitForPull(abandoned, e); err != nil {
			return nil, err
		}
	}
	found, err := e.localImage(ctx, b.config.Image)
	if err == nil || !errdefs.IsNotFound(err) || errors.Is(err, errLost) {
		return found, err
	}
	if b.config.Pull == PullNever {
		return nil, b.imageForbidden()
	}
	if err := b.waitForPull(abandoned, e); err != nil {
		return nil, err
	}
	return e.localImage(ctx, b.config.Image)
}

// localImage looks an image up once per engine.
func (e *engine) localImage(ctx context.Context, name string) (*localImage, error) {
	e.mu.Lock()
	found := e.image
	e.mu.Unlock()
	if found != nil {
		return found, nil
	}
	info, err := e.client.ImageInspect(ctx, name)
	if err != nil {
		return nil, e.step("look up image "+name, err)
	}
	found = &localImage{id: info.ID}
	if info.Config != nil {
		found.volumes = volumesOf(info.Config.Volumes)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.image = found
	return found, nil
}

func (e *engine) forgetImage() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.image = nil
}

// imageMissing names every way out.
func imageMissing(name string, err error) error {
	return fmt.Errorf("docker: image %s cannot be had: %w; run `docker pull %s` or `docker load` where a registry can be reached, "+
		"set docker.image to an image with Python 3.9 or newer that is there (`docker images`), or use `sandbox: native`: %w",
		name, err, name, sandbox.ErrUnavailable)
}

// imageForbidden is the error where the policy forbids to pull.
func (b *Backend) imageForbidden() error {
	return imageMissing(b.config.Image, errors.New(`docker.pull is "never" and the engine does not have it`))
}

func (b *Backend) waitForPull(abandoned <-chan struct{}, e *engine) error {
	p := b.startPull(e)
	if p == nil {
		return errClosed
	}
	select {
	case <-p.done:
		return p.err
	case <-abandoned:
		return errAbandoned
	}
}

// pullAgainAfter is how long a failed pull answers for later ones, so that a
// machine without a registry fails quickly.
const pullAgainAfter = 10 * time.Second

// startPull joins the pull under way, or starts one. It returns nil when the
// backend is closed.
func (b *Backend) startPull(e *engine) *pull {
	b.pulls.mu.Lock()
	defer b.pulls.mu.Unlock()
	if p := b.pulls.current; p != nil && (!isClosed(p.done) || p.err != nil && time.Since(p.failedAt) < pullAgainAfter) {
		return p
	}
	p := &pull{done: make(chan struct{}), progress: PullProgress{Image: b.config.Image, Status: "starting"}}
	started := b.unlessClosed(func() {
		err := b.pull(b.life, e, p)
		if err != nil {
			err = imageMissing(b.config.Image, err)
			b.config.Logger.Debug("image not pulled", slog.String("image", b.config.Image), slog.Any("error", err))
		} else {
			b.config.Logger.Info("image pulled", slog.String("image", b.config.Image))
		}
		b.report(p, func(progress *PullProgress) { progress.Done, progress.Err = true, err })
		b.pulls.mu.Lock()
		b.pulls.pulled = b.pulls.pulled || err == nil
		b.pulls.mu.Unlock()
		p.err, p.failedAt = err, time.Now()
		close(p.done)
	})
	if !started {
		return nil
	}
	b.pulls.current = p
	return p
}

// pull pulls the image and follows the engine's account of it.
func (b *Backend) pull(ctx context.Context, e *engine, p *pull) error {
	b.config.Logger.Info("pulling image", slog.String("image", b.config.Image))
	body, err := e.client.ImagePull(ctx, b.config.Image, image.PullOptions{RegistryAuth: registryAuth(b.config.Image)})
	if err != nil {
		return err
	}
	defer body.Close()
	type layer struct{ current, total int64 }
	layers := map[string]layer{}
	lines := json.NewDecoder(body)
	for {
		var line struct {
			ID             string `json:"id"`
			Status         string `json:"status"`
			Error          string `json:"error"`
			ProgressDetail struct {
				Current int64 `json:"current"`
				Total   int64 `json:"total"`
			} `json:"progressDetail"`
		}
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if line.Error != "" {
			return errors.New(line.Error)
		}
		if d := line.ProgressDetail; line.Status == "Downloading" && d.Total > 0 {
			layers[line.ID] = layer{d.Current, d.Total}
		} else if l, ok := layers[line.ID]; ok && line.Status == "Download complete" {
			layers[line.ID] = layer{l.total, l.total}
		}
		b.report(p, func(progress *PullProgress) {
			progress.Status, progress.Current, progress.Total = line.Status, 0, 0
			for _, l := range layers {
				progress.Current += l.current
				progress.Total += l.total
			}
		})
	}
}

func (b *Backend) report(p *pull, change func(*PullProgress)) {
	p.mu.Lock()
	change(&p.progress)
	now := p.progress
	p.mu.Unlock()
	if b.config.Progress != nil {
		b.config.Progress(now)
	}
}

func (p *pulls) succeeded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pulled
}

// status says how far the pull under way is, empty when there is none.
func (p *pulls) status() string {
	p.mu.Lock()
	current := p.current
	p.mu.Unlock()
	if current == nil || isClosed(current.done) {
		return ""
	}
	current.mu.Lock()
	defer current.mu.Unlock()
	return current.progress.String()
}
