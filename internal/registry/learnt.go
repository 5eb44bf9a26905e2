package registry

import (
	"bytes"
	"encoding/json"
	"sync"
	"sync/atomic"
)

// Where a server declares no output schema, the shape of what its tools have
// returned is offered instead. Results are looked at off the path of calls:
// when it is busy, or has seen enough, a result is let go.

const (
	// maxSampleBytes is the size of a result that is looked at; larger ones
	// are left alone.
	maxSampleBytes = 64 << 10
	// maxSamples is the number of a tool's results after which its shape is
	// taken as known.
	maxSamples = 50
	// maxLearning is the number of results that are looked at at once.
	maxLearning = 4
)

// learner holds the shapes of results, by callable name. The zero value is
// ready. It is safe for concurrent use.
type learner struct {
	shapes sync.Map // string → *learntShape
	busy   atomic.Int32
}

type learntShape struct {
	results atomic.Int32 // seen, or being looked at

	mu    sync.Mutex
	seen  int
	shape shape
}

// observe hands a result over, and returns at once.
func (l *learner) observe(name string, value json.RawMessage) {
	if len(value) > maxSampleBytes {
		return
	}
	known, ok := l.shapes.Load(name)
	if ok && known.(*learntShape).results.Load() >= maxSamples {
		return
	}
	if l.busy.Add(1) > maxLearning {
		l.busy.Add(-1)
		return
	}
	if !ok {
		known, _ = l.shapes.LoadOrStore(name, &learntShape{})
	}
	known.(*learntShape).results.Add(1)
	go func() {
		defer l.busy.Add(-1)
		known.(*learntShape).learn(value)
	}()
}

func (s *learntShape) learn(value json.RawMessage) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var decoded any
	if decoder.Decode(&decoded) != nil {
		s.results.Add(-1)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	s.shape.add(decoded, 0)
}

// schema is what was learnt of a tool's results as a JSON Schema, and from how
// many results; 0 when nothing is known.
func (l *learner) schema(name string) (schema json.RawMessage, results int) {
	known, ok := l.shapes.Load(name)
	if !ok {
		return nil, 0
	}
	s := known.(*learntShape)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == 0 {
		return nil, 0
	}
	return s.shape.appendSchema(nil), s.seen
}
