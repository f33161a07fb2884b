package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var (
	groupVersion = schema.GroupVersion{Group: "ai.example.com", Version: "v1"}
	jobsResource = groupVersion.WithResource("inferencejobs")
)

// job is one that holds no GPUs, so that no controller moves it while it is looked at.
func job(name string, spec map[string]any) *unstructured.Unstructured {
	whole := map[string]any{"image": "registry.example.com/vllm:0.9", "suspend": true}
	for key, value := range spec {
		whole[key] = value
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": groupVersion.String(),
		"kind":       "InferenceJob",
		"metadata":   map[string]any{"name": name},
		"spec":       whole,
	}}
}

func create(ctx context.Context, env *Env, names ...string) error {
	for _, name := range names {
		if _, err := env.Jobs().Create(ctx, job(name, nil), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
	}
	return nil
}

func label(ctx context.Context, env *Env, name, value string) error {
	_, err := env.Jobs().Patch(ctx, name, mergePatch, []byte(`{"metadata":{"labels":{"step":"`+value+`"}}}`), metav1.PatchOptions{})
	return err
}

// nameOf is the name of an object, also of one whose deletion an informer has missed.
func nameOf(obj any) string {
	if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = missed.Obj
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprintf("%T", obj)
	}
	return accessor.GetName()
}

// labelOf is the label that the function label sets.
func labelOf(obj any) string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return accessor.GetLabels()["step"]
}

// settle waits until the controller has nothing more to say about a job.
func settle(ctx context.Context, env *Env, name string) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 15*time.Second, true, func(ctx context.Context) (bool, error) {
		live, err := env.Jobs().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return field(live, "status", "observedGeneration") == live.GetGeneration(), nil
	})
}

// InferenceJob is the type as a generated client would have it, as far as the scenarios need it.
type InferenceJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Image    string `json:"image"`
		GPUCount int32  `json:"gpuCount,omitempty"`
		Suspend  bool   `json:"suspend,omitempty"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase,omitempty"`
	} `json:"status,omitempty"`
}

// InferenceJobList is a list of them.
type InferenceJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []InferenceJob `json:"items"`
}

// DeepCopyObject makes it a runtime.Object.
func (j *InferenceJob) DeepCopyObject() runtime.Object {
	copied := *j
	copied.ObjectMeta = *j.ObjectMeta.DeepCopy()
	return &copied
}

// DeepCopyObject makes it a runtime.Object.
func (l *InferenceJobList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = make([]InferenceJob, len(l.Items))
	for index := range l.Items {
		copied.Items[index] = *l.Items[index].DeepCopyObject().(*InferenceJob)
	}
	return &copied
}

// typedClient is what a generated clientset is made of.
func typedClient(env *Env) (*rest.RESTClient, runtime.ParameterCodec, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &InferenceJob{}, &InferenceJobList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	config := rest.CopyConfig(env.Config)
	config.GroupVersion = &groupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	return client, runtime.NewParameterCodec(scheme), err
}
