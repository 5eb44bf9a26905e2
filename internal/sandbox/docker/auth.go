package docker

import (
	"github.com/cpuguy83/dockercfg"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/registry"
)

// registryAuth is what the docker command's login, or its credential helper,
// knows about an image's registry, as the engine's API takes it. Empty means
// to pull as anybody.
func registryAuth(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "" // the engine says better what is wrong with the name
	}
	host := dockercfg.ResolveRegistryHost(reference.Domain(named))
	user, password, err := dockercfg.GetRegistryCredentials(host)
	if err != nil || user == "" && password == "" {
		return ""
	}
	auth := registry.AuthConfig{Username: user, Password: password, ServerAddress: host}
	if user == "" {
		auth = registry.AuthConfig{IdentityToken: password, ServerAddress: host}
	}
	encoded, _ := registry.EncodeAuthConfig(auth) // strings always marshal
	return encoded
}
