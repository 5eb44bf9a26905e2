package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Size is a number of bytes. In the file it is a whole number, or a number
// with one of the suffixes B, kB, MB, GB, TB (powers of 1000) and KiB, MiB,
// GiB, TiB (powers of 1024, IEC 80000-13), upper or lower case.
type Size int64

var sizePattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)$`)

// ParseSize reads a size such as "512MiB" or "65536". A fraction is accepted
// where it comes to a whole number of bytes, as in "1.5GiB".
func ParseSize(text string) (Size, error) {
	match := sizePattern.FindStringSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("size: %s is not a number of bytes such as 65536 or 512MiB", quote(text))
	}
	unit, ok := sizeUnit(strings.ToLower(match[2]))
	if !ok {
		return 0, fmt.Errorf("size: unknown unit in %s; use B, kB, MB, GB, TB, KiB, MiB, GiB or TiB", quote(text))
	}
	if whole, err := strconv.ParseInt(match[1], 10, 64); err == nil && whole <= math.MaxInt64/unit {
		return Size(whole * unit), nil
	}
	number, err := strconv.ParseFloat(match[1], 64)
	switch bytes := number * float64(unit); {
	case err != nil || bytes >= math.MaxInt64:
		return 0, fmt.Errorf("size: %s is too large", quote(text))
	case bytes != math.Trunc(bytes):
		return 0, fmt.Errorf("size: %s is not a whole number of bytes", quote(text))
	default:
		return Size(bytes), nil
	}
}

func sizeUnit(suffix string) (int64, bool) {
	switch suffix {
	case "", "b":
		return 1, true
	case "kb":
		return 1e3, true
	case "mb":
		return 1e6, true
	case "gb":
		return 1e9, true
	case "tb":
		return 1e12, true
	case "kib":
		return 1 << 10, true
	case "mib":
		return 1 << 20, true
	case "gib":
		return 1 << 30, true
	case "tib":
		return 1 << 40, true
	}
	return 0, false
}

// String returns the size in the largest unit that leaves no fraction:
// "512MiB", "65kB", "1001B". ParseSize reads it back.
func (s Size) String() string {
	for _, suffix := range []string{"TiB", "TB", "GiB", "GB", "MiB", "MB", "KiB", "kB"} {
		unit, _ := sizeUnit(strings.ToLower(suffix))
		if s != 0 && int64(s)%unit == 0 {
			return strconv.FormatInt(int64(s)/unit, 10) + suffix
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}
