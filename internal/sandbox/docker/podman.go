package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"
)

const enginePodman = "Podman"

// engineName goes by the parts that an engine says it is made of: Podman
// answers as if it were Docker, but for those.
func engineName(version types.Version) string {
	for _, part := range version.Components {
		if part.Name == "Podman Engine" {
			return enginePodman
		}
	}
	return "Docker"
}

// podmanInfo is what Podman says of itself by its own API only.
type podmanInfo struct {
	Host struct {
		// CgroupControllers are those that it can use. By Docker's API it names
		// all that the kernel has, as an ordinary user too.
		CgroupControllers []string `json:"cgroupControllers"`
		Security          struct {
			Rootless bool `json:"rootless"`
		} `json:"security"`
	} `json:"host"`
}

// podmanInfoBytes bounds its answer, which is some kilobytes long.
const podmanInfoBytes = 1 << 20

// askPodman asks by Podman's own API, at an address that needs no name.
func (e *engine) askPodman(ctx context.Context) (podmanInfo, error) {
	var info podmanInfo
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://podman.invalid/v4.0.0/libpod/info", http.NoBody)
	if err != nil {
		return info, fmt.Errorf("docker: ask Podman: %w", err)
	}
	response, err := e.client.HTTPClient().Do(request)
	if err != nil {
		return info, fmt.Errorf("docker: ask Podman: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return info, fmt.Errorf("docker: ask Podman: %s", response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, podmanInfoBytes)).Decode(&info); err != nil {
		return info, fmt.Errorf("docker: ask Podman: %w", err)
	}
	return info, nil
}

// correct puts into Docker's words what Podman says in its own.
func (p podmanInfo) correct(info *system.Info) {
	can := func(controller string) bool { return slices.Contains(p.Host.CgroupControllers, controller) }
	info.MemoryLimit = info.MemoryLimit && can("memory")
	info.CPUCfsQuota = info.CPUCfsQuota && can("cpu")
	info.PidsLimit = info.PidsLimit && can("pids")
	if p.Host.Security.Rootless && !hasOption(info.SecurityOptions, "rootless") {
		info.SecurityOptions = append(info.SecurityOptions, "name=rootless")
	}
}
