//go:build scale

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

package scale

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// A write is a request of the provider that changed something.
type write struct {
	Verb string `json:"verb"`
	Ref  struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
}

func (w write) String() string {
	return fmt.Sprintf("%s %s/%s %s/%s", w.Verb, w.Ref.Resource, w.Ref.Subresource, w.Ref.Namespace, w.Ref.Name)
}

// mark returns where the audit log ends.
func (k *kube) mark() (int64, error) {
	st, err := os.Stat(k.audit)
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// writes returns what the provider has written since a mark.
func (k *kube) writes(since int64) ([]write, error) {
	f, err := os.Open(k.audit)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // Only read.
	if _, err := f.Seek(since, io.SeekStart); err != nil {
		return nil, err
	}
	var out []write
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		w := write{}
		if err := json.Unmarshal(sc.Bytes(), &w); err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, sc.Err()
}
