// Package sandboxtest holds what tests need around sandboxes: the conformance
// suite that every backend passes (Run), and a backend in memory for tests of
// the layers above (Fake).
//
// It knows the contract of package sandbox and no concrete backend.
package sandboxtest
