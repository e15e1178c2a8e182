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

package valkey

import (
	"fmt"
	"strconv"
)

// anyMap turns a map or a flat list of names and values into a map.
func anyMap(v any) (map[string]any, error) {
	switch v := v.(type) {
	case map[string]any:
		return v, nil
	case []any:
		if len(v)%2 != 0 {
			return nil, fmt.Errorf("%d names and values", len(v))
		}
		out := make(map[string]any, len(v)/2)
		for i := 0; i < len(v); i += 2 {
			out[toString(v[i])] = v[i+1]
		}
		return out, nil
	default:
		return nil, fmt.Errorf("%T instead of names and values", v)
	}
}

func toString(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	default:
		return fmt.Sprint(v)
	}
}
