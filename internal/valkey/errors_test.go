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
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewServerError(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   ServerError
	}{
		"Code":     {reason: "The first word in capitals is the code.", in: "NOAUTH Authentication required.", want: ServerError{Code: "NOAUTH", Message: "Authentication required."}},
		"CodeOnly": {reason: "There may be nothing but a code.", in: "BUSY", want: ServerError{Code: "BUSY"}},
		"NoCode":   {reason: "A text without a code gets the general one.", in: "/users.acl:1: wrong", want: ServerError{Code: "ERR", Message: "/users.acl:1: wrong"}},
		"Empty":    {reason: "Even an empty error is one.", want: ServerError{Code: "ERR"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(&tc.want, newServerError(tc.in)); diff != "" {
				t.Errorf("%s\nnewServerError(%q): -want, +got:\n%s", tc.reason, tc.in, diff)
			}
		})
	}
}

// The texts are those of real servers, versions 8.0.1 to 9.1.2.
func TestErrorClasses(t *testing.T) {
	classes := map[string]func(error) bool{
		"Unreachable": IsUnreachable, "Refused": IsRefused, "Timeout": IsTimeout, "TLS": IsTLS, "Auth": IsAuth, "NoPerm": IsNoPerm,
		"Loading": IsLoading, "ClusterDown": IsClusterDown, "TryAgain": IsTryAgain, "IOErr": IsIOErr, "NoReplicas": IsNoReplicas,
		"UnknownNode": IsUnknownNode, "ForgetMyMaster": IsForgetMyMaster, "ForgetMyself": IsForgetMyself, "KnowsOthers": IsKnowsOthers,
		"EpochSet": IsEpochSet, "NotEmpty": IsNotEmpty, "NotPrimary": IsNotPrimary, "NotReplica": IsNotReplica, "PrimaryDown": IsPrimaryDown,
		"SlotBusy": IsSlotBusy, "SlotUnassigned": IsSlotUnassigned, "NoMigrations": IsNoMigrations, "Migrating": IsMigrating,
		"UnknownCommand": IsUnknownCommand, "ImmutableConfig": IsImmutableConfig, "ProtectedConfig": IsProtectedConfig,
		"UnknownConfig": IsUnknownConfig, "NotSent": IsNotSent,
	}
	reply := func(s string) error { return newServerError(s) }
	cases := map[string]struct {
		reason string
		err    error
		want   []string
	}{
		"Nil":         {reason: "No error is in no class."},
		"Refused":     {reason: "A refused connection is one way of not reaching a server.", err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, want: []string{"Refused", "Unreachable"}},
		"Reset":       {reason: "A reset is another.", err: &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, want: []string{"Unreachable"}},
		"EOF":         {reason: "So is the end of a connection.", err: io.EOF, want: []string{"Unreachable"}},
		"Deadline":    {reason: "So is silence.", err: context.DeadlineExceeded, want: []string{"Timeout", "Unreachable"}},
		"Cancelled":   {reason: "When the caller gave up nothing is known of the server.", err: context.Canceled},
		"BadCA":       {reason: "A server with the wrong certificate was reached.", err: x509.UnknownAuthorityError{}, want: []string{"TLS"}},
		"Alert":       {reason: "So was one that refuses ours.", err: &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}, want: []string{"TLS"}},
		"NotSent":     {reason: "Why the connection failed stays visible.", err: &connectError{reply("WRONGPASS invalid username-password pair or user is disabled.")}, want: []string{"Auth", "NotSent"}},
		"NoAuth":      {reason: "A missing password is a matter of authentication.", err: reply("NOAUTH Authentication required."), want: []string{"Auth"}},
		"NoPerm":      {reason: "A missing permission is not.", err: reply("NOPERM User x has no permissions to run the 'acl|list' command"), want: []string{"NoPerm"}},
		"Loading":     {reason: "Loading has a code.", err: reply("LOADING Valkey is loading the dataset in memory"), want: []string{"Loading"}},
		"ClusterDown": {reason: "So has a cluster that is down.", err: reply("CLUSTERDOWN The cluster is down"), want: []string{"ClusterDown"}},
		"TargetDown":  {reason: "A MIGRATE reports the target's.", err: reply("ERR Target instance replied with error: CLUSTERDOWN The cluster is down"), want: []string{"ClusterDown"}},
		"IOErr":       {reason: "A MIGRATE may not reach the target.", err: reply("IOERR error or timeout writing to target instance"), want: []string{"IOErr"}},
		"Unknown":     {reason: "REPLICATE and FORGET name an unknown node.", err: reply("ERR Unknown node 68a5"), want: []string{"UnknownNode"}},
		"DontKnow":    {reason: "SETSLOT says it differently.", err: reply("ERR I don't know about node 68a5"), want: []string{"UnknownNode"}},
		"MyMaster":    {reason: "A replica keeps its primary.", err: reply("ERR Can't forget my master!"), want: []string{"ForgetMyMaster"}},
		"Myself":      {reason: "Nobody forgets itself.", err: reply("ERR I tried hard but I can't forget myself..."), want: []string{"ForgetMyself"}},
		"KnowsOthers": {reason: "Epochs are given to the lonely.", err: reply("ERR The user can assign a config epoch only when the node does not know any other node."), want: []string{"KnowsOthers"}},
		"EpochSet":    {reason: "And only once.", err: reply("ERR Node config epoch is already non-zero"), want: []string{"EpochSet"}},
		"HasSlots":    {reason: "A primary with slots does not become a replica.", err: reply("ERR To set a master the node must be empty and without assigned slots."), want: []string{"NotEmpty"}},
		"HasKeys":     {reason: "A primary with keys is not reset.", err: reply("ERR CLUSTER RESET can't be called with master nodes containing keys"), want: []string{"NotEmpty"}},
		"OfReplica":   {reason: "A replica has no replicas.", err: reply("ERR I can only replicate a master, not a replica."), want: []string{"NotPrimary"}},
		"ASMReplica":  {reason: "Slots move between primaries.", err: reply("ERR Slot migration can only be used on primary nodes."), want: []string{"NotPrimary"}},
		"NotReplica":  {reason: "A primary is not promoted.", err: reply("ERR You should send CLUSTER FAILOVER to a replica"), want: []string{"NotReplica"}},
		"PrimaryDown": {reason: "A dead primary does not hand over.", err: reply("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE"), want: []string{"PrimaryDown"}},
		"SlotBusy":    {reason: "A slot has one owner.", err: reply("ERR Slot 5 is already busy"), want: []string{"SlotBusy"}},
		"Unassigned":  {reason: "A slot without owner cannot lose it.", err: reply("ERR Slot 5 is already unassigned"), want: []string{"SlotUnassigned"}},
		"Idle":        {reason: "There may be nothing to cancel.", err: reply("ERR No migrations ongoing"), want: []string{"NoMigrations"}},
		"Migrating":   {reason: "A slot moves once at a time.", err: reply("ERR I am already migrating slot 5."), want: []string{"Migrating"}},
		"Subcommand":  {reason: "8.x does not know migrations.", err: reply("ERR unknown subcommand 'MIGRATESLOTS'. Try CLUSTER HELP."), want: []string{"UnknownCommand"}},
		"Immutable":   {reason: "Some settings cannot be changed.", err: reply("ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config"), want: []string{"ImmutableConfig"}},
		"Protected":   {reason: "Some may not be.", err: reply("ERR CONFIG SET failed (possibly related to argument 'dir') - can't set protected config"), want: []string{"ProtectedConfig"}},
		"NoSetting":   {reason: "Some do not exist.", err: reply("ERR Unknown option or number of arguments for CONFIG SET - 'nope'"), want: []string{"UnknownConfig"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.err
			if err != nil {
				err = fmt.Errorf("PING on 10.0.0.1:6379: %w", err)
			}
			got := map[string]bool{}
			for class, is := range classes {
				if is(err) {
					got[class] = true
				}
			}
			want := map[string]bool{}
			for _, class := range tc.want {
				want[class] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\nclasses of %v: -want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}

// A server may repeat the arguments of a command in its error.
func TestErrorsHideSecrets(t *testing.T) {
	const secret = "hunter2"
	echo := func(args []string) string { return "-ERR cannot do " + strings.Join(args, " ") + "\r\n" }
	cases := map[string]struct {
		reason string
		do     func(*Node) error
	}{
		"Authentication": {reason: "The password we connect with.", do: func(n *Node) error {
			n.credentials = Credentials{Username: "u", Password: secret}
			return n.Ping(t.Context())
		}},
		"Migrate": {reason: "The password for the target.", do: func(n *Node) error {
			return n.Migrate(t.Context(), MigrateRequest{IP: "10.0.0.1", Port: 6379, Keys: []string{"k"}, Credentials: Credentials{Username: "u", Password: secret}})
		}},
		"SetUser":   {reason: "A user's new password.", do: func(n *Node) error { return n.ACLSetUser(t.Context(), "u", "on", ">"+secret) }},
		"ConfigSet": {reason: "The password of replication.", do: func(n *Node) error { return n.ConfigSet(t.Context(), map[string]string{"primaryauth": secret}) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := NewPool(PoolOptions{})
			defer p.Close()
			err := tc.do(p.Node(Endpoint{Addr: newFake(t, echo).addr}, Credentials{}, nil))
			if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "(secret)") {
				t.Errorf("%s\nthe error shows the secret or is none: %v", tc.reason, err)
			}
		})
	}
	if got := fmt.Sprintf("%v %+v %#v", Credentials{"u", secret}, Credentials{"u", secret}, Credentials{"u", secret}); strings.Contains(got, secret) {
		t.Errorf("printing credentials shows the password: %s", got)
	}
}
