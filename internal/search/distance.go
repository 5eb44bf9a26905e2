package search

// maxCompared bounds the bytes of a word that are compared.
const maxCompared = 64

// Distance is the edit distance of a and b: letters inserted, left out,
// substituted, or exchanged with the next one, each 1. It is limit+1 when it is
// more than limit; the work is bounded by the length of a times limit. Of what is
// longer than 64 bytes only the beginning is compared.
func Distance(a, b string, limit int) int {
	a, b = a[:min(len(a), maxCompared)], b[:min(len(b), maxCompared)]
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > limit {
		return limit + 1
	}
	var rows [3][maxCompared + 2]int
	older, previous, current := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		from, to := max(1, i-limit), min(len(b), i+limit)
		current[from-1] = limit + 1
		if from == 1 {
			current[0] = i
		}
		lowest := current[from-1]
		for j := from; j <= to; j++ {
			best := previous[j-1]
			if a[i-1] != b[j-1] {
				best++
			}
			best = min(best, current[j-1]+1, previous[j]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				best = min(best, older[j-2]+1)
			}
			current[j] = best
			lowest = min(lowest, best)
		}
		current[to+1] = limit + 1
		if lowest > limit {
			return limit + 1
		}
		older, previous, current = previous, current, older
	}
	return min(previous[len(b)], limit+1)
}
