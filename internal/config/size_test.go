package config

import (
	"math"
	"testing"
)

func TestParseSizeReadsNumbersWithUnits(t *testing.T) {
	for text, want := range map[string]Size{
		"0":                   0,
		"65536":               65536,
		"1B":                  1,
		"64kB":                64_000,
		"64KB":                64_000,
		"64KiB":               65_536,
		"512MiB":              512 << 20,
		"512mib":              512 << 20,
		"64 MB":               64_000_000,
		"1GiB":                1 << 30,
		"1.5GiB":              3 << 29,
		"0.5kB":               500,
		"2TB":                 2e12,
		"1TiB":                1 << 40,
		"9223372036854775807": math.MaxInt64,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q gives %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseSizeRejectsWhatIsNoSize(t *testing.T) {
	for _, text := range []string{
		"", "MiB", "-1", "+1", "1e3", "1,5MB", "5 M", "5m", "1KiBs", "1  MB", " 1MB", "1MB ", "0x10",
		"1.5B", "0.0001kB", "9223372036854775808", "9000000TiB", "1.MB", ".5MB", "١MB",
		"99999999999999999999999999999999999999999999999999999999999999999999TB",
	} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q gives %d", text, got)
		}
	}
}

func TestASizePrintsInTheLargestUnitThatFits(t *testing.T) {
	for size, want := range map[Size]string{
		0: "0B", 1: "1B", 1000: "1kB", 1001: "1001B", 1024: "1KiB", 65536: "64KiB", 512 << 20: "512MiB",
		64e6: "64MB", 1 << 40: "1TiB", -5: "-5B", math.MaxInt64: "9223372036854775807B",
	} {
		if got := size.String(); got != want {
			t.Errorf("%d prints as %s, want %s", int64(size), got, want)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	f.Add("1.5GiB")
	f.Add("9223372036854775807")
	f.Fuzz(func(t *testing.T, text string) {
		size, err := ParseSize(text)
		if err != nil {
			return
		}
		if again, err := ParseSize(size.String()); size < 0 || err != nil || again != size {
			t.Fatalf("%q gives %d, which prints as %s and gives %d, %v", text, int64(size), size, int64(again), err)
		}
	})
}
