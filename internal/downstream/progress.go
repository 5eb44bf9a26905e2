package downstream

import (
	"encoding/json"
	"strconv"
	"sync"
)

// progress hands the progress notifications of one connection to those who
// follow a request, by its token.
type progress struct {
	mu        sync.Mutex
	last      uint64
	followers map[string]func(params json.RawMessage)
}

// follow makes a token whose notifications f gets.
func (p *progress) follow(f func(params json.RawMessage)) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	token := "ptc-" + strconv.FormatUint(p.last, 10)
	if p.followers == nil {
		p.followers = make(map[string]func(json.RawMessage))
	}
	p.followers[token] = f
	return token
}

// forget ends it. No call of the follower is under way when it returns.
func (p *progress) forget(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.followers, token)
}

// notify passes a notification on, unless nobody follows its token.
func (p *progress) notify(params json.RawMessage) {
	var token string
	if scanObject(params, func(key string, value json.RawMessage) {
		if key == "progressToken" {
			_ = json.Unmarshal(value, &token) // ours are strings
		}
	}) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.followers[token]; f != nil {
		f(params)
	}
}
