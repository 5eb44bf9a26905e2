//go:build !linux

package main

import (
	"context"
	"errors"
)

func keepAwake(context.Context) (stop func(), err error) {
	return nil, errors.New("keep the processors awake: only on Linux")
}
