//go:build server

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

package acl

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
)

func hashOf(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

// grant makes a permission from a role in the words of an ACL and from patterns.
func grant(role, patterns string) shapePermission { return shapePermission{role, patterns} }

type shapePermission struct{ role, patterns string }

// A shape is a kind of binding: what must work and what must be denied with it,
// each as a command whose words are split at spaces.
type shape struct {
	reason string
	grants []shapePermission
	works  []string
	denied []string
}

var shapes = map[string]shape{
	"Everything":         {"A user may be allowed all.", []shapePermission{grant("+@all", "~* &*")}, []string{"SET k v", "GET k", "PUBLISH c m", "SUBSCRIBE c", "CONFIG GET maxmemory"}, nil},
	"NoKeys":             {"Without patterns there is no access to keys or channels.", []shapePermission{grant("+@all", "")}, []string{"PING", "DBSIZE"}, []string{"GET k", "SET k v", "PUBLISH c m", "SUBSCRIBE c"}},
	"NoCommands":         {"A role without rules permits nothing.", []shapePermission{grant("", "~* &*")}, nil, []string{"PING", "GET k", "SET k v", "SUBSCRIBE c"}},
	"ReadCategory":       {"Reading is not writing.", []shapePermission{grant("+@read", "~*")}, []string{"GET k", "EXISTS k", "STRLEN k"}, []string{"SET k v", "DEL k", "PING", "FLUSHALL"}},
	"WriteCategory":      {"Writing is not reading.", []shapePermission{grant("+@write", "~*")}, []string{"SET k v", "DEL k"}, []string{"GET k", "CONFIG GET maxmemory"}},
	"TwoCategories":      {"Categories add up.", []shapePermission{grant("+@string +@hash", "~*")}, []string{"SET s v", "GET s", "HSET h f v", "HGET h f"}, []string{"LPUSH l v", "SADD s2 v", "DEL s"}},
	"DenyAfterAllow":     {"A category denied after one that is allowed.", []shapePermission{grant("+@all -@dangerous", "~* &*")}, []string{"SET k v", "GET k", "PING"}, []string{"FLUSHALL", "KEYS *", "CONFIG GET maxmemory", "ACL LIST", "CLIENT LIST"}},
	"DenyAllLast":        {"The last rule counts, even if it takes all back.", []shapePermission{grant("+@read -@all", "~*")}, nil, []string{"GET k", "SET k v", "PING"}},
	"DenyAllFirst":       {"What follows a denial is allowed again.", []shapePermission{grant("-@all +@read", "~*")}, []string{"GET k"}, []string{"SET k v"}},
	"CommandAfterDenial": {"A command is allowed although its category is denied: commands come last.", []shapePermission{grant("+@read -@dangerous +keys", "~*")}, []string{"KEYS *", "GET k"}, []string{"FLUSHALL", "INFO", "SORT k"}},
	"DenyCommand":        {"A command denied of an allowed category.", []shapePermission{grant("+@write -flushall -flushdb", "~*")}, []string{"SET k v"}, []string{"FLUSHALL", "FLUSHDB"}},
	"OneCommand":         {"One command and nothing near it.", []shapePermission{grant("+get", "~*")}, []string{"GET k"}, []string{"SET k v", "GETEX k", "GETDEL k", "MGET k", "GETRANGE k 0 1"}},
	"AllowThenDenyOne":   {"A command that is allowed and denied is denied.", []shapePermission{grant("+get +set -get", "~*")}, []string{"SET k v"}, []string{"GET k"}},
	"Subcommand":         {"One subcommand and none of its siblings.", []shapePermission{grant("+config|get", "")}, []string{"CONFIG GET maxmemory"}, []string{"CONFIG SET maxmemory 0", "CONFIG RESETSTAT", "CONFIG REWRITE"}},
	"DenySubcommand":     {"A command without one of its subcommands.", []shapePermission{grant("+config -config|set", "")}, []string{"CONFIG GET maxmemory", "CONFIG RESETSTAT"}, []string{"CONFIG SET maxmemory 0"}},
	"DenySubOfAll":       {"Everything without one subcommand.", []shapePermission{grant("+@all -client|kill", "~* &*")}, []string{"CLIENT ID", "SET k v"}, []string{"CLIENT KILL ID 99999999"}},
	"SubOfDenied":        {"A subcommand of a category that is denied.", []shapePermission{grant("+@all -@admin +client|list", "~*")}, []string{"CLIENT LIST", "SET k v"}, []string{"CLIENT KILL ID 99999999", "CONFIG GET maxmemory"}},
	"KeyPrefix":          {"Keys of an application.", []shapePermission{grant("+@all", "~app:*")}, []string{"SET app:1 v", "GET app:1", "SET app: v"}, []string{"SET other v", "GET app", "GET xapp:1"}},
	"KeyExact":           {"One key.", []shapePermission{grant("+@all", "~one")}, []string{"SET one v"}, []string{"GET one2", "GET on", "GET One"}},
	"KeyAnyCharacter":    {"A question mark stands for one character.", []shapePermission{grant("+@all", "~a?c")}, []string{"SET abc v"}, []string{"GET ac", "GET abbc"}},
	"KeyClass":           {"Brackets stand for one of some.", []shapePermission{grant("+@all", "~[ab]x")}, []string{"SET ax v", "SET bx v"}, []string{"GET cx", "GET abx"}},
	"KeyNegatedClass":    {"Or for one that is none of them.", []shapePermission{grant("+@all", "~[^a]x")}, []string{"SET bx v"}, []string{"GET ax"}},
	"KeyRange":           {"Or for one of a range.", []shapePermission{grant("+@all", "~[a-c]x")}, []string{"SET bx v"}, []string{"GET dx"}},
	"KeyEscaped":         {"A backslash takes the meaning of a star.", []shapePermission{grant("+@all", `~a\*b`)}, []string{"SET a*b v"}, []string{"GET axb"}},
	"KeyBackslashLast":   {"A backslash at the end is one.", []shapePermission{grant("+@all", `~a\`)}, []string{`SET a\ v`}, []string{"GET a", "GET ax"}},
	"KeyOpenClass":       {"Brackets that are never closed reach to the end.", []shapePermission{grant("+@all", "~k[ab")}, []string{"SET ka v"}, []string{"GET kc", "GET k[ab"}},
	"ReadOnlyKeys":       {"Keys may be read and not written.", []shapePermission{grant("+@all", "%R~r:*")}, []string{"GET r:1"}, []string{"SET r:1 v", "GETDEL r:1", "DEL r:1", "INCR r:1"}},
	"WriteOnlyKeys":      {"Or written and not read.", []shapePermission{grant("+@all", "%W~w:*")}, []string{"SET w:1 v", "DEL w:1"}, []string{"GET w:1", "SET w:1 v GET", "GETDEL w:1"}},
	"CopyOneWay":         {"Data may flow one way only.", []shapePermission{grant("+@all", "%R~{x}r* %W~{x}w*")}, []string{"COPY {x}r {x}w"}, []string{"COPY {x}w {x}r", "SET {x}r v", "GET {x}w"}},
	"ReadAndWriteApart":  {"Two patterns that both match a key do not add up for a command that reads and writes.", []shapePermission{grant("+@all", "%R~k* %W~*k")}, []string{"GET kk", "SET kk v"}, []string{"GETDEL kk", "SET ka v", "GET ak"}},
	"ReadAndWriteSame":   {"The same pattern twice does.", []shapePermission{grant("+@all", "%R~k %W~k")}, []string{"SET k v", "GETDEL k"}, []string{"GET k2"}},
	"ReadAllWriteSome":   {"Read everything, write one's own.", []shapePermission{grant("+@all", "%R~* ~app:*")}, []string{"GET other", "SET app:1 v"}, []string{"SET other v", "DEL other"}},
	"SeveralKeys":        {"Every key of a command must be permitted.", []shapePermission{grant("+@all", "~{x}a ~{x}b")}, []string{"MGET {x}a {x}b", "MSET {x}a 1 {x}b 2"}, []string{"MGET {x}a {x}c", "MSET {x}a 1 {x}c 2"}},
	"StarWithOthers":     {"A star makes other patterns redundant.", []shapePermission{grant("+@all", "~a ~* ~b")}, []string{"SET anything v"}, nil},
	"Selector":           {"A second permission has keys of its own.", []shapePermission{grant("+get", "~a:*"), grant("+set", "~b:*")}, []string{"GET a:1", "SET b:1 v"}, []string{"SET a:1 v", "GET b:1"}},
	"SelectorsApart":     {"Commands of one permission do not meet keys of another.", []shapePermission{grant("+@all", ""), grant("", "~*")}, []string{"PING"}, []string{"GET k", "SET k v"}},
	"SelectorReadWrite":  {"Read here, write there.", []shapePermission{grant("+@read", "~cold:*"), grant("+@read +@write", "~hot:*")}, []string{"GET cold:1", "SET hot:1 v", "GET hot:1"}, []string{"SET cold:1 v"}},
	"SelectorDeny":       {"What one permission denies another may allow.", []shapePermission{grant("+@all -get", "~*"), grant("+get", "~open")}, []string{"GET open", "SET k v"}, []string{"GET k"}},
	"SelectorAccess":     {"Patterns for reading and writing work in any permission.", []shapePermission{grant("", ""), grant("+@all", "%R~r %W~w")}, []string{"GET r", "SET w v"}, []string{"SET r v", "GET w"}},
	"SelectorSubcommand": {"So do subcommands.", []shapePermission{grant("+ping", ""), grant("+config|get", "")}, []string{"PING", "CONFIG GET maxmemory"}, []string{"CONFIG SET maxmemory 0"}},
	"SelectorChannels":   {"So do channels.", []shapePermission{grant("+publish", "&a"), grant("+subscribe", "&b")}, []string{"PUBLISH a m", "SUBSCRIBE b"}, []string{"SUBSCRIBE a", "PUBLISH b m"}},
	"SelectorNoChannels": {"A permission without channels has none, whatever others have.", []shapePermission{grant("+publish", "&a"), grant("+subscribe", "~*")}, []string{"PUBLISH a m"}, []string{"SUBSCRIBE a"}},
	"ChannelExact":       {"One channel.", []shapePermission{grant("+@pubsub", "&news")}, []string{"PUBLISH news m", "SUBSCRIBE news"}, []string{"SUBSCRIBE news2", "PUBLISH new m", "PSUBSCRIBE news*"}},
	"ChannelGlob":        {"A pattern of channels may be subscribed to as it is, and not more widely.", []shapePermission{grant("+@pubsub", "&app:*")}, []string{"SUBSCRIBE app:1", "PSUBSCRIBE app:*", "PUBLISH app:1 m"}, []string{"PSUBSCRIBE app:1*", "PSUBSCRIBE *", "SUBSCRIBE other"}},
	"ChannelNone":        {"Commands alone open no channel.", []shapePermission{grant("+@pubsub", "~*")}, nil, []string{"SUBSCRIBE a", "PUBLISH a m", "PSUBSCRIBE *", "SSUBSCRIBE a"}},
	"ChannelSharded":     {"Sharded channels follow the same patterns.", []shapePermission{grant("+@pubsub", "&news")}, []string{"SPUBLISH news m", "SSUBSCRIBE news"}, []string{"SPUBLISH other m", "SSUBSCRIBE other"}},
	"ChannelAll":         {"All channels, and no keys.", []shapePermission{grant("+@pubsub +get", "&*")}, []string{"PSUBSCRIBE *", "PUBLISH a m"}, []string{"GET k"}},
	"NoACL":              {"Everything but the users.", []shapePermission{grant("+@all -acl", "~* &*")}, []string{"SET k v"}, []string{"ACL LIST", "ACL SETUSER x on", "ACL WHOAMI"}},
	"Script":             {"A script may do what its user may.", []shapePermission{grant("+eval +get", "~app:*")}, []string{"EVAL return(redis.call('get',KEYS[1])) 1 app:1"}, []string{"EVAL return(redis.call('get',KEYS[1])) 1 other", "EVAL return(redis.call('set',KEYS[1],'v')) 1 app:1", "EVAL return(redis.call('get','other')) 1 app:1"}},
	"Scan":               {"Names of keys are no secret to who may scan.", []shapePermission{grant("+scan", "~app:*")}, []string{"SCAN 0"}, []string{"KEYS *", "GET app:1"}},
	"Stream":             {"A category of one type.", []shapePermission{grant("+@stream", "~s:*")}, []string{"XADD s:1 * f v", "XLEN s:1"}, []string{"XADD t:1 * f v", "SET s:2 v"}},
	"HashFieldCommands":  {"Names with digits and underscores.", []shapePermission{grant("+georadius_ro +bitfield_ro", "~*")}, []string{"BITFIELD_RO bits GET u8 0"}, []string{"BITFIELD bits GET u8 0"}},
	"Parenthesis":        {"A closing parenthesis in a key closes nothing.", []shapePermission{grant("+@all", "~a)")}, []string{"SET a) v"}, []string{"GET a", "GET a))"}},
	"Opening":            {"An opening one opens nothing.", []shapePermission{grant("+@all", "~a(b ~(")}, []string{"SET a(b v", "SET ( v"}, []string{"GET ab", "GET a"}},
	"SelectorClosing":    {"Not in a selector either.", []shapePermission{grant("", ""), grant("+@all", "~k) ~x")}, []string{"SET k) v", "SET x v"}, []string{"GET k", "GET k))"}},
	"SelectorEscaped":    {"Nor with a backslash.", []shapePermission{grant("", ""), grant("+@all", `~k\) ~[a)]`)}, []string{"SET k) v", "SET a v", "SET ) v"}, []string{`GET k\)`, "GET b"}},
	"SelectorOpening":    {"Nor one that opens.", []shapePermission{grant("", ""), grant("+@all", "~( ~(x")}, []string{"SET ( v", "SET (x v"}, []string{"GET x"}},
	"SelectorChannel":    {"Nor a channel.", []shapePermission{grant("", ""), grant("+@pubsub", "&c)")}, []string{"PUBLISH c) m", "SUBSCRIBE c)"}, []string{"PUBLISH c m"}},
	"LooksLikeRule":      {"A pattern that looks like a rule is a pattern.", []shapePermission{grant("+get", "~+@all ~nopass ~on ~reset ~allkeys ~>pw ~#x")}, []string{"GET +@all", "GET nopass", "GET >pw", "GET #x"}, []string{"SET +@all v", "PING", "GET k"}},
	"LooksLikePattern":   {"So is one that looks like a pattern.", []shapePermission{grant("+@all", "~~x ~%R~y ~&z")}, []string{"SET ~x v", "SET %R~y v", "SET &z v"}, []string{"GET x", "GET y", "GET z"}},
	"Unicode":            {"Any script, and blanks that are none to a server.", []shapePermission{grant("+@all", "~é* ~日本 ~a\u00a0b ~\U0001f511")}, []string{"SET état v", "SET 日本 v", "SET a\u00a0b v", "SET \U0001f511 v"}, []string{"GET e", "GET 日", "GET a"}},
	"Punctuation":        {"Whatever a keyboard has.", []shapePermission{grant("+@all", "~a;b ~c|d ~e$f ~g`h ~i<j ~k=l ~m,n ~o/p ~{q}")}, []string{"SET a;b v", "SET c|d v", "SET e$f v", "SET g`h v", "SET {q} v"}, []string{"GET a", "GET c", "GET q"}},
	"SixteenKeys":        {"As many patterns as a permission may have.", []shapePermission{grant("+@all", strings.Join(numbered("~k%d", 16), " "))}, []string{"SET k0 v", "SET k15 v"}, []string{"GET k16"}},
	"SixteenPermissions": {"As many permissions as a user may have.", sixteen(), []string{"SET p0 v", "SET p15 v"}, []string{"GET p16", "GET p"}},
}

func numbered(format string, n int) []string {
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

func sixteen() []shapePermission {
	var out []shapePermission
	for _, k := range numbered("~p%d", 16) {
		out = append(out, grant("+@all", k))
	}
	return out
}

// roleOf reads a role from the words of an ACL.
func roleOf(t *testing.T, text string) v1alpha1.ValkeyRoleSpec {
	t.Helper()
	out := v1alpha1.ValkeyRoleSpec{}
	for w := range strings.FieldsSeq(text) {
		access := allow
		if w[0] == '-' {
			access = deny
		}
		if name, ok := strings.CutPrefix(w[1:], "@"); ok {
			if len(out.Commands) > 0 {
				t.Fatalf("%q: categories come first", text)
			}
			out.Categories = append(out.Categories, v1alpha1.CategoryRule{Name: v1alpha1.CommandName(name), Access: access})
			continue
		}
		name, sub, _ := strings.Cut(w[1:], "|")
		out.Commands = append(out.Commands, v1alpha1.CommandRule{Name: v1alpha1.CommandName(name), Subcommand: v1alpha1.CommandName(sub), Access: access})
	}
	return out
}

// permissionOf reads patterns as an ACL has them.
func permissionOf(role, patterns string) v1alpha1.Permission {
	out := v1alpha1.Permission{RoleRef: role}
	for w := range strings.SplitSeq(patterns, " ") {
		switch {
		case w == "":
		case w[0] == '&':
			out.Channels = append(out.Channels, v1alpha1.ChannelPattern(w[1:]))
		case strings.HasPrefix(w, "%R~"):
			out.Keys = append(out.Keys, v1alpha1.KeyPattern{Pattern: w[3:], Access: v1alpha1.AccessRead})
		case strings.HasPrefix(w, "%W~"):
			out.Keys = append(out.Keys, v1alpha1.KeyPattern{Pattern: w[3:], Access: v1alpha1.AccessWrite})
		default:
			out.Keys = append(out.Keys, v1alpha1.KeyPattern{Pattern: w[1:]})
		}
	}
	return out
}

// shapeUsers renders a user of each shape, all with the same password.
func shapeUsers(t *testing.T, password string) []User {
	t.Helper()
	var bindings []v1alpha1.ACLBinding
	roles := map[string]v1alpha1.ValkeyRoleSpec{}
	for name, s := range shapes {
		b := v1alpha1.ACLBinding{Username: name, PasswordHashes: []v1alpha1.PasswordHash{v1alpha1.PasswordHash(hashOf(password))}}
		for i, g := range s.grants {
			role := fmt.Sprintf("%s-%d", name, i)
			roles[role] = roleOf(t, g.role)
			b.Permissions = append(b.Permissions, permissionOf(role, g.patterns))
		}
		bindings = append(bindings, b)
	}
	users, err := Render(bindings, roles)
	if err != nil {
		t.Fatal(err)
	}
	return users
}

// systemPasswords are the hashes of the passwords "operator" and "repl".
func systemPasswords() System {
	return System{OperatorHashes: []string{hashOf("operator")}, ReplHashes: []string{hashOf("repl")}}
}

var operator = valkey.Credentials{Username: OperatorUser, Password: "operator"}

// start starts a server that has the users of a file. It does not serve keys.
func start(t *testing.T, version string, users []User) *valkeyserver.Server {
	t.Helper()
	file, err := File(users, systemPasswords(), version)
	if err != nil {
		t.Fatal(err)
	}
	return valkeyserver.Start(t, version, valkeyserver.Options{ACL: file, Credentials: operator})
}

// startWith starts one that does.
func startWith(t *testing.T, version string, users []User) *valkeyserver.Server {
	t.Helper()
	s := start(t, version, users)
	if err := s.Node().AddSlots(t.Context(), []valkey.SlotRange{{Start: 0, End: valkey.SlotCount - 1}}); err != nil {
		t.Fatal(err)
	}
	valkeyserver.Await(t, 10*time.Second, "the cluster to be ok", func() string {
		if st, err := s.Node().State(t.Context()); err != nil || !st.ClusterOK {
			return fmt.Sprint("not ok ", err)
		}
		return ""
	})
	return s
}

// answer logs in to a server by the plain protocol and returns the first line of
// its answer to a command.
func answer(t *testing.T, addr, name, password string, args ...string) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // The answer is all that matters.
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	send := func(args ...string) string {
		b := strings.Builder{}
		fmt.Fprintf(&b, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
		}
		if _, err := c.Write([]byte(b.String())); err != nil {
			t.Fatal(err)
		}
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return strings.TrimSpace(line)
	}
	if name != "" {
		if got := send("AUTH", name, password); got != "+OK" {
			return got
		}
	}
	return send(args...)
}

func isDenied(answer string) bool {
	return strings.HasPrefix(answer, "-NOPERM") || strings.HasPrefix(answer, "-") && strings.Contains(answer, "ACL failure in script")
}

func checkShapes(t *testing.T, addr, password string) {
	t.Helper()
	checks := 0
	for name, s := range shapes {
		for _, cmd := range s.works {
			checks++
			if got := answer(t, addr, name, password, strings.Split(cmd, " ")...); strings.HasPrefix(got, "-") {
				t.Errorf("%s: %s %q must work, got %s", name, s.reason, cmd, got)
			}
		}
		for _, cmd := range s.denied {
			checks++
			if got := answer(t, addr, name, password, strings.Split(cmd, " ")...); !isDenied(got) {
				t.Errorf("%s: %s %q must be denied, got %s", name, s.reason, cmd, got)
			}
		}
	}
	t.Logf("%d shapes, %d checks", len(shapes), checks)
}

func onEveryVersion(t *testing.T, fn func(t *testing.T, version string)) {
	t.Helper()
	for _, v := range valkeyserver.Versions() {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			fn(t, v)
		})
	}
}

// Users come to a server by its file when it starts and by commands later: both
// must mean the same.
func TestServerShapes(t *testing.T) {
	if len(shapes) < 40 {
		t.Fatalf("%d shapes", len(shapes))
	}
	onEveryVersion(t, func(t *testing.T, version string) {
		s := startWith(t, version, shapeUsers(t, "first"))
		checkShapes(t, s.Addr, "first")
		ch := valkey.ACLChange{}
		for _, u := range shapeUsers(t, "second") {
			ch.Set = append(ch.Set, valkey.ACLSetting{Name: u.Name, Rules: u.Rules})
		}
		if _, err := s.Node().ACLApply(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
		checkShapes(t, s.Addr, "second")
		if got := answer(t, s.Addr, "Everything", "first", "PING"); !strings.HasPrefix(got, "-WRONGPASS") {
			t.Errorf("the first password still works: %s", got)
		}
	})
}

// What is rendered of a user is how a server lists it.
func TestServerListsWhatWasMeant(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		users := shapeUsers(t, "first")
		s := start(t, version, users)
		lines, err := s.Node().ACLList(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		listed := map[string]Listed{}
		for _, l := range lines {
			u, err := ParseListed(l)
			if err != nil {
				t.Errorf("%q: %v", l, err)
			}
			listed[u.Name] = u
		}
		for _, u := range Complete(users, systemPasswords(), version) {
			l, ok := listed[u.Name]
			if !ok {
				t.Errorf("user %q is not listed", u.Name)
			}
			if l.Excludes(u) {
				t.Errorf("user %q is listed as %+v", u.Name, l)
			}
			for _, h := range l.Hashes {
				if !slices.Contains(u.Rules, "#"+h) {
					t.Errorf("user %q has a password that it was not given", u.Name)
				}
			}
		}
	})
}

func TestServerDefaultUser(t *testing.T) {
	bound := func(name string) []User {
		users, err := Render([]v1alpha1.ACLBinding{{
			Username: name, PasswordHashes: []v1alpha1.PasswordHash{v1alpha1.PasswordHash(hashOf("pw"))}, Permissions: []v1alpha1.Permission{permissionOf("r", "~app:*")},
		}}, map[string]v1alpha1.ValkeyRoleSpec{"r": roleOf(t, "+@all")})
		if err != nil {
			t.Fatal(err)
		}
		return users
	}
	cases := map[string]struct {
		reason        string
		users         []User
		stranger, ask string
	}{
		"Open":   {"Without users everybody may do everything.", nil, ":0", ""},
		"Closed": {"With users nobody comes in without a password.", bound("app"), "-NOAUTH", "-WRONGPASS"},
		"Bound":  {"Unless the default user is one of them.", bound("default"), "-NOAUTH", ":0"},
		"NameOn": {"A user may have a name that looks like a rule.", bound("on"), "-NOAUTH", "-WRONGPASS"},
	}
	onEveryVersion(t, func(t *testing.T, version string) {
		for name, tc := range cases {
			t.Run(name, func(t *testing.T) {
				s := start(t, version, tc.users)
				if got := answer(t, s.Addr, "", "", "DBSIZE"); !strings.HasPrefix(got, tc.stranger) {
					t.Errorf("%s A stranger got %s", tc.reason, got)
				}
				if tc.ask == "" {
					return
				}
				if got := answer(t, s.Addr, "default", "pw", "DBSIZE"); !strings.HasPrefix(got, tc.ask) {
					t.Errorf("%s The default user got %s", tc.reason, got)
				}
			})
		}
	})
}

// System users may do what they are for and nothing to the data of others.
func TestServerSystemUsers(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		s := start(t, version, nil)
		denied := map[string][]string{
			OperatorUser + " operator": {
				"GET k", "SET k v", "DEL k", "KEYS *", "SCAN 0", "RANDOMKEY", "DUMP k", "FLUSHALL", "FLUSHDB", "EVAL return(1) 0", "FUNCTION LIST", "SUBSCRIBE c", "PUBLISH c m", "MONITOR",
				"CONFIG REWRITE", "CONFIG RESETSTAT", "MODULE LIST", "CLIENT PAUSE 1", "CLUSTER FLUSHSLOTS", "CLUSTER DELSLOTS 1", "ACL GENPASS", "ACL LOG", "BGSAVE", "SAVE", "REPLICAOF NO ONE", "PSYNC ? -1",
			},
			ReplUser + " repl": {
				"GET k", "KEYS *", "SCAN 0", "DUMP k", "CONFIG GET maxmemory", "CONFIG SET maxmemory 0", "ACL LIST", "ACL SETUSER x on", "CLUSTER NODES", "CLUSTER FORGET x", "CLUSTER RESET", "SHUTDOWN", "CLIENT LIST", "EVAL return(1) 0",
				"SUBSCRIBE c", "PUBLISH c m", "MONITOR", "REPLICAOF NO ONE", "INFO",
			},
		}
		if major(version) < 9 {
			denied[ReplUser+" repl"] = append(denied[ReplUser+" repl"], "SET k v", "DEL k", "FLUSHALL", "MIGRATE 127.0.0.1 1 k 0 1")
		}
		for who, cmds := range denied {
			name, password, _ := strings.Cut(who, " ")
			for _, cmd := range cmds {
				if got := answer(t, s.Addr, name, password, strings.Split(cmd, " ")...); !isDenied(got) {
					t.Errorf("%s: %q must be denied, got %s", name, cmd, got)
				}
			}
		}
	})
}

// The largest file that fits is loaded at start and by commands, within the time
// that a command has.
func TestServerLargestFile(t *testing.T) {
	onEveryVersion(t, func(t *testing.T, version string) {
		users := largest(t, version)
		s := startWith(t, version, users)
		last := users[len(users)-1]
		ch := valkey.ACLChange{}
		for _, u := range users {
			ch.Set = append(ch.Set, valkey.ACLSetting{Name: u.Name, Rules: u.Rules})
		}
		begin := time.Now()
		if _, err := s.Node().ACLApply(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
		applied := time.Since(begin)
		lines, err := s.Node().ACLList(t.Context())
		if err != nil || len(lines) != len(users)+3 {
			t.Fatalf("%d users instead of %d: %v", len(lines), len(users)+3, err)
		}
		t.Logf("%d users applied in %s", len(users), applied)
		key := strings.Repeat("k", 253) + "15x"
		if got := answer(t, s.Addr, last.Name, "pw", "SET", key, "v"); got != "+OK" {
			t.Errorf("the last user got %s", got)
		}
		if got := answer(t, s.Addr, last.Name, "pw", "SET", "other", "v"); !isDenied(got) {
			t.Errorf("the last user got %s", got)
		}
	})
}

// largest renders as many users with 16 permissions with 16 keys of full length
// as fit into a file.
func largest(t *testing.T, version string) []User {
	t.Helper()
	var bindings []v1alpha1.ACLBinding
	var users []User
	for i := range 64 {
		b := v1alpha1.ACLBinding{Username: fmt.Sprintf("u%d", i), PasswordHashes: []v1alpha1.PasswordHash{v1alpha1.PasswordHash(hashOf("pw"))}}
		for range 16 {
			b.Permissions = append(b.Permissions, permissionOf("r", strings.Join(numbered("~"+strings.Repeat("k", 253)+"%d*", 16), " ")))
		}
		bindings = append(bindings, b)
		next, err := Render(bindings, map[string]v1alpha1.ValkeyRoleSpec{"r": roleOf(t, "+@all")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := File(next, systemPasswords(), version); err != nil {
			if len(users) < 10 {
				t.Fatalf("only %d users fit: %v", len(users), err)
			}
			return users
		}
		users = next
	}
	t.Fatal("there is no limit")
	return nil
}
