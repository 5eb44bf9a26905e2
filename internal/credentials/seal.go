package credentials

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
)

// keyBytes is the length of an AES-256 key.
const keyBytes = 32

// envelope is the file: what is kept, as it is or sealed with a key that the
// keyring has. Keyrings bound their items, some to 2560 bytes, which tokens
// outgrow; a key always fits.
type envelope struct {
	Version int      `json:"version"`
	Open    *content `json:"open,omitempty"`
	Sealed  []byte   `json:"sealed,omitempty"` // nonce and AES-256-GCM
	// Index has the indexName of each sealed grant.
	Index []string `json:"index,omitempty"`
}

func newKey() string {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // it cannot fail
	return base64.StdEncoding.EncodeToString(key)
}

func aead(key string) (cipher.AEAD, error) {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(raw) != keyBytes {
		return nil, errors.New("the key in the keyring is not one of ptc-mcp's")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func seal(key string, plain []byte) ([]byte, error) {
	box, err := aead(key)
	if err != nil {
		return nil, err
	}
	return box.Seal(nil, nil, plain, nil), nil
}

func unseal(key string, sealed []byte) ([]byte, error) {
	box, err := aead(key)
	if err != nil {
		return nil, err
	}
	plain, err := box.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, fmt.Errorf("the key in the keyring does not fit: %w", err)
	}
	return plain, nil
}
