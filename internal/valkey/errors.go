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
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/valkey-io/valkey-go"
)

// A ServerError is an error that a server answered.
type ServerError struct {
	// Code is the first word of the reply, for example ERR, NOAUTH or MOVED.
	Code string
	// Message is the text after the code.
	Message string
}

// Error returns the reply as the server wrote it.
func (e *ServerError) Error() string {
	if e.Message == "" {
		return e.Code
	}
	return e.Code + " " + e.Message
}

// newServerError splits a reply into code and message. A few replies have no code (the one of ACL LOAD does not even
// start with a word); they get ERR.
func newServerError(reply string) *ServerError {
	code, message, _ := strings.Cut(reply, " ")
	if code == "" || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return &ServerError{Code: "ERR", Message: reply}
	}
	return &ServerError{Code: code, Message: message}
}

// errBroken is returned for a reply that cannot be understood.
var errBroken = errors.New("unexpected reply")

// A connectError is an error that came before any command was sent.
type connectError struct{ err error }

func (e *connectError) Error() string { return "cannot connect: " + e.err.Error() }

func (e *connectError) Unwrap() error { return e.err }

// IsNotSent reports whether the connection failed before the command was sent, so that it cannot have had an effect.
func IsNotSent(err error) bool {
	var ce *connectError
	return errors.As(err, &ce)
}

// IsUnreachable reports whether no answer came from the server: the connection was refused, reset or closed, or a
// deadline passed. It is false for errors that the server answered, for failed TLS verification, and where the caller
// gave up by cancelling.
func IsUnreachable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || IsTLS(err) {
		return false
	}
	if isServer(err) {
		return false
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	var ne net.Error
	var no *net.OpError
	var en syscall.Errno
	return errors.As(err, &ne) || errors.As(err, &no) || errors.As(err, &en)
}

// IsRefused reports whether the connection was refused, that is the host is there and nothing listens on the port. A
// firewall can answer the same way.
func IsRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// IsTimeout reports whether the server did not answer in time, for example because its process is stopped.
func IsTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// IsTLS reports whether the TLS handshake failed: either side did not accept the other's certificate, or the server does
// not speak TLS. A server that does not accept our certificate may also just reset the connection, in TLS 1.3: its refusal
// comes after our side of the handshake is done.
func IsTLS(err error) bool {
	var (
		verify *tls.CertificateVerificationError
		header tls.RecordHeaderError
		alert  tls.AlertError
		ca     x509.UnknownAuthorityError
		host   x509.HostnameError
		cert   x509.CertificateInvalidError
	)
	return errors.As(err, &verify) || errors.As(err, &header) || errors.As(err, &alert) ||
		errors.As(err, &ca) || errors.As(err, &host) || errors.As(err, &cert) || isTLSText(err)
}

// isTLSText recognises an alert that the server sent: crypto/tls reports it as a net.OpError around an unexported type.
func isTLSText(err error) bool {
	var oe *net.OpError
	return errors.As(err, &oe) && oe.Op == "remote error"
}

// IsAuth reports whether the server did not accept our user name and password, or wants one.
func IsAuth(err error) bool { return hasCode(err, "NOAUTH", "WRONGPASS") }

// IsNoPerm reports whether our user may not run the command.
func IsNoPerm(err error) bool { return hasCode(err, "NOPERM") }

// IsLoading reports whether the server is still loading its data set.
func IsLoading(err error) bool { return hasCode(err, "LOADING") }

// IsClusterDown reports whether the server does not serve because its cluster state is not ok.
func IsClusterDown(err error) bool {
	return hasCode(err, "CLUSTERDOWN") || hasText(err, "Target instance replied with error: CLUSTERDOWN")
}

// IsTryAgain reports whether the server asks to repeat the command later.
func IsTryAgain(err error) bool { return hasCode(err, "TRYAGAIN") }

// IsIOErr reports whether a MIGRATE could not reach the node that should receive the keys. They are still in the source.
func IsIOErr(err error) bool { return hasCode(err, "IOERR") }

// IsNoReplicas reports whether SETSLOT was refused because the node's replicas did not confirm in time.
func IsNoReplicas(err error) bool { return hasCode(err, "NOREPLICAS") }

// IsUnknownNode reports whether the server does not know the node id of the command, which is normal until gossip has
// brought the news of a MEET, and after a FORGET.
func IsUnknownNode(err error) bool {
	// SETSLOT and MIGRATESLOTS word it differently from FORGET and REPLICATE.
	return hasText(err, "Unknown node") || hasText(err, "I don't know about node")
}

// IsForgetMyMaster reports whether a FORGET was refused because the node is the primary of the server that was asked.
func IsForgetMyMaster(err error) bool { return hasText(err, "Can't forget my master") }

// IsForgetMyself reports whether a FORGET was refused because the server was asked to forget itself.
func IsForgetMyself(err error) bool { return hasText(err, "can't forget myself") }

// IsKnowsOthers reports whether SET-CONFIG-EPOCH was refused because the server already knows other nodes.
func IsKnowsOthers(err error) bool {
	return hasText(err, "The user can assign a config epoch only when")
}

// IsEpochSet reports whether SET-CONFIG-EPOCH was refused because the node already has an epoch.
func IsEpochSet(err error) bool { return hasText(err, "Node config epoch is already non-zero") }

// IsNotEmpty reports whether REPLICATE or RESET was refused because the server is a primary that holds slots or keys.
func IsNotEmpty(err error) bool {
	return hasText(err, "the node must be empty and without assigned slots") || hasText(err, "can't be called with master nodes containing keys")
}

// IsNotPrimary reports whether a command was refused because the node concerned is a replica.
func IsNotPrimary(err error) bool {
	return hasText(err, "I can only replicate a master, not a replica") || hasText(err, "You can use SETSLOT only with masters") ||
		hasText(err, "can only be used on primary nodes") || hasText(err, "Please use SETSLOT only with masters")
}

// IsNotReplica reports whether FAILOVER was refused because the server is a primary already.
func IsNotReplica(err error) bool {
	return hasText(err, "You should send CLUSTER FAILOVER to a replica")
}

// IsPrimaryDown reports whether a default-mode FAILOVER was refused because the primary does not answer.
func IsPrimaryDown(err error) bool { return hasText(err, "Master is down or failed") }

// IsSlotBusy reports whether ADDSLOTS was refused because another node is known to own one of the slots.
func IsSlotBusy(err error) bool { return hasText(err, "is already busy") }

// IsSlotUnassigned reports whether DELSLOTS was refused because one of the slots has no owner.
func IsSlotUnassigned(err error) bool { return hasText(err, "is already unassigned") }

// IsNoMigrations reports whether there was no migration to cancel.
func IsNoMigrations(err error) bool { return hasText(err, "No migrations ongoing") }

// IsMigrating reports whether the server refused because the slot is being migrated already.
func IsMigrating(err error) bool {
	return hasText(err, "I am already migrating slot") || hasText(err, "Slot export in progress") || hasText(err, "Slot import in progress")
}

// IsUnknownCommand reports whether this version does not know the command or subcommand.
func IsUnknownCommand(err error) bool {
	return hasText(err, "unknown command") || hasText(err, "unknown subcommand")
}

// IsImmutableConfig reports whether CONFIG SET was refused because the setting can only be given at start.
func IsImmutableConfig(err error) bool { return hasText(err, "can't set immutable config") }

// IsProtectedConfig reports whether CONFIG SET was refused because the setting is protected.
func IsProtectedConfig(err error) bool { return hasText(err, "can't set protected config") }

// IsUnknownConfig reports whether CONFIG SET was refused because this version does not know the setting.
func IsUnknownConfig(err error) bool { return hasText(err, "Unknown option") }

func isServer(err error) bool {
	var se *ServerError
	return errors.As(err, &se)
}

func hasCode(err error, codes ...string) bool {
	var se *ServerError
	return errors.As(err, &se) && slices.Contains(codes, se.Code)
}

// hasText looks for a text in what the server answered, whatever its case: the words have changed case between versions.
func hasText(err error, text string) bool {
	var se *ServerError
	return errors.As(err, &se) && strings.Contains(strings.ToLower(se.Error()), strings.ToLower(text))
}

// translate turns an error of the client library into ours, so that nobody else needs to know that library. The secrets
// are removed from what the server said: several errors repeat the arguments of the command.
func translate(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	ve, ok := valkey.IsValkeyErr(err)
	if !ok {
		return err
	}
	return newServerError(hideSecrets(ve.Error(), secrets))
}

func hideSecrets(text string, secrets []string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "(secret)")
		}
	}
	return text
}
