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

package valkeycluster

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/servingcert"
)

// Condition types of a ValkeyCluster beside Crossplane's Ready and Synced.
const (
	// TypeConverged tells whether the cluster is as its spec asks and, if not,
	// on what the provider works and how far it is.
	TypeConverged xpv2.ConditionType = "Converged"
	// TypeSettings tells whether all settings of the config are used as written.
	TypeSettings xpv2.ConditionType = "SettingsAccepted"
	// TypeCertificate tells until when the serving certificate is valid, and is
	// false from 30 days before.
	TypeCertificate xpv2.ConditionType = "CertificateValid"
)

// writeStatus computes the status from what was found.
func (e *external) writeStatus(c *v1alpha1.ValkeyCluster, t transition, problem error) {
	before := c.Status.DeepCopy()
	st := &c.Status
	st.State, st.TargetSpec, st.Message = t.State, t.TargetSpec, t.Message
	st.Nodes = nil
	for _, n := range e.found.nodes {
		st.Nodes = append(st.Nodes, n.obj.GetName())
	}
	st.Roll = e.found.place.roll
	c.SetConditions(e.converged(problem), e.readiness(t, problem))
	if e.found.resolved != nil {
		c.SetConditions(settingsCondition(e.found.resolved))
	}
	if c.Spec.TLS != nil {
		c.SetConditions(certConditions(c, e.found.resolved, problem)...)
	}
	c.SetObservedGeneration(c.GetGeneration())
	e.tell(c, before)
}

func (e *external) converged(problem error) xpv2.Condition {
	p := e.found.plan
	out := xpv2.Condition{Type: TypeConverged, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now(), Reason: xpv2.ConditionReason(p.Reason), Message: p.Message}
	if problem != nil {
		out.Reason, out.Message = "Invalid", problem.Error()
	}
	if problem == nil && p.Converged {
		out.Status = corev1.ConditionTrue
	}
	return out
}

func (e *external) readiness(t transition, problem error) xpv2.Condition {
	switch {
	case problem != nil:
		return xpv2.Unavailable().WithMessage(problem.Error())
	case t.State == v1alpha1.StateCreating:
		return xpv2.Creating().WithMessage(e.found.plan.Message)
	case e.found.plan.Serving:
		return xpv2.Available()
	}
	return xpv2.Unavailable().WithMessage(e.found.plan.Message)
}

func settingsCondition(r *resolved) xpv2.Condition {
	out := xpv2.Condition{Type: TypeSettings, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), Reason: "AsWritten"}
	var msgs []string
	if len(r.overridden) > 0 {
		out.Status, out.Reason = corev1.ConditionFalse, "Overridden"
		msgs = append(msgs, fmt.Sprintf("the provider sets %s itself; remove them from the ValkeyConfig", strings.Join(r.overridden, ", ")))
	}
	msgs = append(msgs, r.warnings...)
	out.Message = strings.Join(msgs, "; ")
	return out
}

// certWarning is how long before its expiry a certificate is warned of.
const certWarning = 30 * 24 * time.Hour

// certConditions says what is known of the certificate: nothing, if something
// else is wrong before it is looked at.
func certConditions(c *v1alpha1.ValkeyCluster, r *resolved, problem error) []xpv2.Condition {
	var bad *servingcert.Error
	switch {
	case errors.As(problem, &bad):
		return []xpv2.Condition{{Type: TypeCertificate, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now(), Reason: xpv2.ConditionReason(bad.Reason), Message: bad.Message}}
	case r != nil && r.tls != nil:
		return []xpv2.Condition{certCondition(c, r.cert.NotAfter, time.Now())}
	}
	return nil
}

func certCondition(c *v1alpha1.ValkeyCluster, notAfter, now time.Time) xpv2.Condition {
	out := xpv2.Condition{Type: TypeCertificate, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), Reason: "Valid"}
	out.Message = fmt.Sprintf("the certificate in Secret %q is valid until %s", c.Spec.TLS.SecretRef, notAfter.UTC().Format(time.RFC3339))
	if notAfter.Sub(now) < certWarning {
		out.Status, out.Reason = corev1.ConditionFalse, "ExpiresSoon"
		out.Message += "; renew it"
	}
	return out
}

// tell sends events for what changed with this pass.
func (e *external) tell(c *v1alpha1.ValkeyCluster, before *v1alpha1.ValkeyClusterStatus) {
	now := &c.Status
	if now.State != before.State && (before.State != "" || now.State == v1alpha1.StateInvalid) {
		e.tellState(c, before)
	} else if now.State == v1alpha1.StateInvalid && now.Message != before.Message {
		e.record.Event(c, event.Warning("Invalid", fmt.Errorf("%s", now.Message)))
	}
	was, is := before.GetCondition(TypeSettings), now.GetCondition(TypeSettings)
	if is.Message != was.Message && is.Message != "" {
		e.record.Event(c, event.Warning(event.Reason(is.Reason), fmt.Errorf("%s", is.Message)))
	}
	e.tellTrouble(c, before)
	e.tellProblems(c)
	e.tellPriority(c)
	e.tellExpiry(c, before)
}

func (e *external) tellExpiry(c *v1alpha1.ValkeyCluster, before *v1alpha1.ValkeyClusterStatus) {
	was, is := before.GetCondition(TypeCertificate), c.Status.GetCondition(TypeCertificate)
	if is.Reason == "ExpiresSoon" && is.Message != was.Message {
		e.record.Event(c, event.Warning("CertificateExpiresSoon", fmt.Errorf("%s", is.Message)))
	}
}

func (e *external) tellState(c *v1alpha1.ValkeyCluster, before *v1alpha1.ValkeyClusterStatus) {
	if c.Status.State == v1alpha1.StateInvalid {
		e.record.Event(c, event.Warning("Invalid", fmt.Errorf("%s", c.Status.Message)))
		return
	}
	e.record.Event(c, event.Normal(event.Reason(c.Status.State), fmt.Sprintf("the cluster went from %s to %s", before.State, c.Status.State)))
}

// tellTrouble reports members that do not start, each trouble once.
func (e *external) tellTrouble(c *v1alpha1.ValkeyCluster, before *v1alpha1.ValkeyClusterStatus) {
	for _, m := range e.found.members {
		if m.PodMessage == "" || m.Process != nil || m.Retired {
			continue
		}
		msg := fmt.Sprintf("member %s: %s", m.Name, m.PodMessage)
		if strings.Contains(before.GetCondition(TypeConverged).Message, m.PodMessage) || !e.memory.once(c, msg) {
			continue
		}
		e.record.Event(c, event.Warning("MemberNotRunning", fmt.Errorf("%s", msg)))
	}
}

// tellProblems reports what holds the cluster up and needs a person, each once,
// although the figures in it may change.
func (e *external) tellProblems(c *v1alpha1.ValkeyCluster) {
	for _, p := range e.found.plan.Problems {
		head, _, _ := strings.Cut(p, ":")
		if e.memory.once(c, head) {
			e.record.Event(c, event.Warning("Blocked", fmt.Errorf("%s", p)))
		}
	}
}
