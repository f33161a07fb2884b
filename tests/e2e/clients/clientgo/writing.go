package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/util/retry"
)

// metadataDecoder reads the partial objects in the rows of a table.
var metadataDecoder = unstructured.UnstructuredJSONScheme

const mergePatch = types.MergePatchType

func field(obj *unstructured.Unstructured, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, path...)
	return value
}

func managers(obj *unstructured.Unstructured) []string {
	var found []string
	for _, entry := range obj.GetManagedFields() {
		found = append(found, fmt.Sprintf("%s %s %s", entry.Manager, entry.Operation, entry.Subresource))
	}
	return found
}

func causes(err error) []string {
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Details == nil {
		return nil
	}
	var found []string
	for _, cause := range status.Status().Details.Causes {
		found = append(found, fmt.Sprintf("%s %s", cause.Type, cause.Field))
	}
	return found
}

// apply goes through server-side apply: create, the same again, a conflict, force, giving up a field, status.
func apply(ctx context.Context, env *Env) (Facts, error) {
	jobs := env.Jobs()
	mine, other := metav1.ApplyOptions{FieldManager: "mine"}, metav1.ApplyOptions{FieldManager: "other"}
	wanted := job("a", map[string]any{"priority": int64(1), "gpuProducts": []any{"x"}})
	if _, err := jobs.Apply(ctx, "a", wanted, mine); err != nil {
		return nil, err
	}
	if err := settle(ctx, env, "a"); err != nil {
		return nil, err
	}
	before, err := jobs.Get(ctx, "a", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	again, err := jobs.Apply(ctx, "a", wanted, mine)
	if err != nil {
		return nil, err
	}
	contender := job("a", map[string]any{"priority": int64(2), "gpuProducts": []any{"y"}})
	_, conflict := jobs.Apply(ctx, "a", contender, other)
	other.Force = true
	forced, err := jobs.Apply(ctx, "a", contender, other)
	if err != nil {
		return nil, err
	}
	given, err := jobs.Apply(ctx, "a", job("a", nil), mine)
	if err != nil {
		return nil, err
	}
	status := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": groupVersion.String(), "kind": "InferenceJob",
		"metadata": map[string]any{"name": "a"}, "status": map[string]any{"message": "applied"},
	}}
	other.Force = true
	stated, err := jobs.ApplyStatus(ctx, "a", status, other)
	if err != nil {
		return nil, err
	}
	return Facts{
		"unchanged":      before.GetResourceVersion() == again.GetResourceVersion(),
		"isConflict":     apierrors.IsConflict(conflict),
		"causes":         causes(conflict),
		"forced":         field(forced, "spec", "priority"),
		"forcedProducts": field(forced, "spec", "gpuProducts"),
		"givenPriority":  field(given, "spec", "priority"),
		"givenProducts":  field(given, "spec", "gpuProducts"),
		"message":        field(stated, "status", "message"),
		"managers":       managers(stated),
	}, nil
}

// extract reads back what a manager owns, by the OpenAPI document of the whole cluster, and applies that.
func extract(ctx context.Context, env *Env) (Facts, error) {
	options := metav1.ApplyOptions{FieldManager: "mine"}
	wanted := job("a", map[string]any{
		"priority": int64(7),
		"env":      []any{map[string]any{"name": "A", "value": "1"}},
	})
	if _, err := env.Jobs().Apply(ctx, "a", wanted, options); err != nil {
		return nil, err
	}
	if err := label(ctx, env, "a", "foreign"); err != nil {
		return nil, err
	}
	live, err := env.Jobs().Get(ctx, "a", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	extractor, err := applymetav1.NewUnstructuredExtractor(env.Discovery)
	if err != nil {
		return nil, fmt.Errorf("the cluster's OpenAPI: %w", err)
	}
	mine, err := extractor.Extract(live, "mine")
	if err != nil {
		return nil, err
	}
	extracted := mine.DeepCopy()
	if err := unstructured.SetNestedField(mine.Object, int64(8), "spec", "priority"); err != nil {
		return nil, err
	}
	changed, err := env.Jobs().Apply(ctx, "a", mine, options)
	if err != nil {
		return nil, err
	}
	return Facts{
		"extracted": extracted.Object, "priority": field(changed, "spec", "priority"),
		"labels": changed.GetLabels(), "generation": changed.GetGeneration(),
	}, nil
}

// retryOnConflict lets writers that overwrite each other's revisions count together.
func retryOnConflict(ctx context.Context, env *Env) (Facts, error) {
	const writers, rounds = 5, 4
	if err := create(ctx, env, "a"); err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	var mutex sync.Mutex
	var conflicts int
	var failures []string
	increment := func() error {
		live, err := env.Jobs().Get(ctx, "a", metav1.GetOptions{})
		if err != nil {
			return err
		}
		count, _, _ := unstructured.NestedInt64(live.Object, "spec", "priority")
		if err := unstructured.SetNestedField(live.Object, count+1, "spec", "priority"); err != nil {
			return err
		}
		_, err = env.Jobs().Update(ctx, live, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			mutex.Lock()
			conflicts++
			mutex.Unlock()
		}
		return err
	}
	backoff := retry.DefaultBackoff
	backoff.Steps = 20
	for range writers {
		group.Go(func() {
			for range rounds {
				if err := retry.RetryOnConflict(backoff, increment); err != nil {
					mutex.Lock()
					failures = append(failures, err.Error())
					mutex.Unlock()
				}
			}
		})
	}
	group.Wait()
	live, err := env.Jobs().Get(ctx, "a", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return Facts{
		"wanted": writers * rounds, "counted": field(live, "spec", "priority"), "conflicts": conflicts,
		"failures": failures, "generation": live.GetGeneration(),
	}, nil
}

// patchAndDelete tries every kind of patch and the preconditions and policies of deletion.
func patchAndDelete(ctx context.Context, env *Env) (Facts, error) {
	if err := create(ctx, env, "a"); err != nil {
		return nil, err
	}
	jobs := env.Jobs()
	facts := Facts{}
	patches := map[types.PatchType]string{
		types.JSONPatchType:           `[{"op":"add","path":"/spec/priority","value":1}]`,
		types.MergePatchType:          `{"spec":{"priority":2}}`,
		types.StrategicMergePatchType: `{"spec":{"priority":3}}`,
	}
	for kind, patch := range patches {
		patched, err := jobs.Patch(ctx, "a", kind, []byte(patch), metav1.PatchOptions{})
		if err != nil {
			facts[string(kind)] = string(apierrors.ReasonForError(err))
			continue
		}
		facts[string(kind)] = field(patched, "spec", "priority")
	}
	finalizer := `{"metadata":{"finalizers":["example.com/hold"]}}`
	held, err := jobs.Patch(ctx, "a", mergePatch, []byte(finalizer), metav1.PatchOptions{})
	if err != nil {
		return nil, err
	}
	wrong, right := types.UID("wrong"), held.GetUID()
	err = jobs.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	facts["wrongUID"] = string(apierrors.ReasonForError(err))
	err = jobs.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &right}})
	if err != nil {
		return nil, err
	}
	terminating, err := jobs.Get(ctx, "a", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	facts["terminating"] = terminating.GetDeletionTimestamp() != nil
	more := `{"metadata":{"finalizers":["example.com/hold","example.com/more"]}}`
	_, err = jobs.Patch(ctx, "a", mergePatch, []byte(more), metav1.PatchOptions{})
	facts["moreFinalizers"] = string(apierrors.ReasonForError(err))
	if _, err = jobs.Patch(ctx, "a", mergePatch, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		return nil, err
	}
	_, err = jobs.Get(ctx, "a", metav1.GetOptions{})
	facts["afterwards"] = string(apierrors.ReasonForError(err))
	return facts, nil
}

// deleteCollection deletes what a selector matches.
func deleteCollection(ctx context.Context, env *Env) (Facts, error) {
	if err := create(ctx, env, "a", "b", "c"); err != nil {
		return nil, err
	}
	for _, name := range []string{"a", "b"} {
		if err := label(ctx, env, name, "old"); err != nil {
			return nil, err
		}
	}
	selected := metav1.ListOptions{LabelSelector: "step=old"}
	if err := env.Metadata.Resource(jobsResource).Namespace(env.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, selected); err != nil {
		return nil, err
	}
	left, err := env.Jobs().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(left.Items)
	names := []string{}
	for index := range left.Items {
		names = append(names, left.Items[index].GetName())
	}
	return Facts{"left": names, "bytes": len(raw)}, err
}
