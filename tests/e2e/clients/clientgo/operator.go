package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	operatorFinalizer = "example.com/operator"
	operatorNote      = "example.com/gpus"
	operatorCondition = "Operated"
)

// operator is a reconciler as kubebuilder makes people write them.
type operator struct {
	client.Client
	finalized atomic.Int32
}

func (o *operator) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	job := &InferenceJob{}
	if err := o.Get(ctx, request.NamespacedName, job); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := job.DeepCopyObject().(*InferenceJob)
	if !job.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(job, operatorFinalizer) {
			o.finalized.Add(1)
			locked := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
			return ctrl.Result{}, client.IgnoreNotFound(o.Patch(ctx, job, locked))
		}
		return ctrl.Result{}, nil
	}
	controllerutil.AddFinalizer(job, operatorFinalizer)
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, operatorNote, fmt.Sprint(job.Spec.GPUCount))
	if err := o.Patch(ctx, job, client.MergeFrom(before)); err != nil {
		return ctrl.Result{}, err
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "of-" + job.Name, Namespace: job.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, o, owned, func() error {
		owned.Data = map[string]string{"image": job.Spec.Image}
		return controllerutil.SetControllerReference(job, owned, o.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, o.state(ctx, job)
}

// state applies a condition of its own beside those of the job's controller.
func (o *operator) state(ctx context.Context, job *InferenceJob) error {
	condition := map[string]any{
		"type": operatorCondition, "status": "True", "reason": "Seen", "message": "by an operator",
		"lastTransitionTime": job.CreationTimestamp.UTC().Format(time.RFC3339),
	}
	stated := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": groupVersion.String(), "kind": "InferenceJob",
		"metadata": map[string]any{"name": job.Name, "namespace": job.Namespace},
		"status":   map[string]any{"conditions": []any{condition}},
	}}
	applied := client.ApplyConfigurationFromUnstructured(stated)
	return client.IgnoreNotFound(o.Status().Apply(ctx, applied, client.FieldOwner("operator")))
}

func newManager(env *Env) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &InferenceJob{}, &InferenceJobList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return ctrl.NewManager(env.Config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{env.Namespace: {}}},
	})
}

// operate runs a controller of controller-runtime over jobs that come, change and go.
func operate(ctx context.Context, env *Env) (Facts, error) {
	ctrllog.SetLogger(zap.New())
	manager, err := newManager(env)
	if err != nil {
		return nil, err
	}
	reconciler := &operator{Client: manager.GetClient()}
	byImage := func(obj client.Object) []string { return []string{obj.(*InferenceJob).Spec.Image} }
	if err := manager.GetFieldIndexer().IndexField(ctx, &InferenceJob{}, "spec.image", byImage); err != nil {
		return nil, err
	}
	err = ctrl.NewControllerManagedBy(manager).For(&InferenceJob{}).Owns(&corev1.ConfigMap{}).Complete(reconciler)
	if err != nil {
		return nil, err
	}
	if err := create(ctx, env, "a"); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(running) }()
	facts, err := observe(ctx, env, reconciler)
	stop()
	if failure := <-ended; err == nil {
		err = failure
	}
	return facts, err
}

func observe(ctx context.Context, env *Env, reconciler *operator) (Facts, error) {
	if err := create(ctx, env, "b"); err != nil {
		return nil, err
	}
	for _, name := range []string{"a", "b"} {
		if err := untilJob(ctx, env, name, operated("1")); err != nil {
			return nil, fmt.Errorf("%s is not operated: %w", name, err)
		}
	}
	four := []byte(`{"spec":{"gpuCount":4}}`)
	if _, err := env.Jobs().Patch(ctx, "a", mergePatch, four, metav1.PatchOptions{}); err != nil {
		return nil, err
	}
	if err := untilJob(ctx, env, "a", operated("4")); err != nil {
		return nil, fmt.Errorf("the change is not seen: %w", err)
	}
	indexed := &InferenceJobList{}
	here := client.InNamespace(env.Namespace)
	if err := reconciler.List(ctx, indexed, here, client.MatchingFields{"spec.image": "registry.example.com/vllm:0.9"}); err != nil {
		return nil, err
	}
	partial := &metav1.PartialObjectMetadataList{}
	partial.SetGroupVersionKind(groupVersion.WithKind("InferenceJobList"))
	if err := reconciler.List(ctx, partial, here); err != nil {
		return nil, err
	}
	owned := &corev1.ConfigMap{}
	if err := reconciler.Get(ctx, types.NamespacedName{Namespace: env.Namespace, Name: "of-a"}, owned); err != nil {
		return nil, err
	}
	if err := env.Jobs().Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		return nil, err
	}
	if err := untilJob(ctx, env, "a", func(job *unstructured.Unstructured) bool { return job == nil }); err != nil {
		return nil, fmt.Errorf("the deletion hangs: %w", err)
	}
	left, err := env.Jobs().Get(ctx, "b", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return Facts{
		"indexed": len(indexed.Items), "partial": len(partial.Items), "owner": owned.OwnerReferences[0].Kind,
		"finalized": reconciler.finalized.Load(), "managers": managers(left),
	}, nil
}

func operated(gpus string) func(*unstructured.Unstructured) bool {
	return func(job *unstructured.Unstructured) bool {
		if job == nil {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
		for _, condition := range conditions {
			if condition.(map[string]any)["type"] == operatorCondition {
				return job.GetAnnotations()[operatorNote] == gpus
			}
		}
		return false
	}
}

// untilJob polls a job; the condition gets nil when there is none.
func untilJob(ctx context.Context, env *Env, name string, done func(*unstructured.Unstructured) bool) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		job, err := env.Jobs().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return done(nil), nil
		}
		if err != nil {
			return false, err
		}
		return done(job), nil
	})
}
