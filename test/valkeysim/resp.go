// Copyright 2026 The provider-valkey Authors.
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

package valkeysim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// errProtocol is returned for what is no command.
var errProtocol = errors.New("not a command")

// The longest command that is read: its words and the bytes of one of them.
const (
	maxWords = 1 << 12
	maxWord  = 1 << 20
)

// readCommand reads a command as clients send it: a list of strings.
func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r, '*', maxWords)
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		size, err := readLength(r, '$', maxWord)
		if err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		words[i] = string(b[:size])
	}
	return words, nil
}

func readLength(r *bufio.Reader, kind byte, most int) (int, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 4 || line[0] != kind {
		return 0, fmt.Errorf("%w: %q", errProtocol, line)
	}
	n, err := strconv.Atoi(string(line[1 : len(line)-2]))
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%w: %q", errProtocol, line)
	}
	return n, nil
}

// The replies of RESP2. A list is of replies.
type (
	simple  string
	failure string
	bulk    string
	number  int
	list    []any
)

const ok = simple("OK")

func bulks(words []string) list {
	out := make(list, len(words))
	for i, w := range words {
		out[i] = bulk(w)
	}
	return out
}

// appendReply writes a reply behind others. A nil reply is null.
func appendReply(b []byte, reply any) []byte {
	switch r := reply.(type) {
	case simple:
		return append(append(append(b, '+'), r...), "\r\n"...)
	case failure:
		return append(append(append(b, '-'), r...), "\r\n"...)
	case number:
		return append(strconv.AppendInt(append(b, ':'), int64(r), 10), "\r\n"...)
	case bulk:
		b = append(strconv.AppendInt(append(b, '$'), int64(len(r)), 10), "\r\n"...)
		return append(append(b, r...), "\r\n"...)
	case list:
		b = append(strconv.AppendInt(append(b, '*'), int64(len(r)), 10), "\r\n"...)
		for _, e := range r {
			b = appendReply(b, e)
		}
		return b
	}
	return append(b, "$-1\r\n"...)
}
