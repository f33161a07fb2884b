package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	toolswatch "k8s.io/client-go/tools/watch"
)

// pages lists in chunks, whole and item by item, with other writers in between.
func pages(ctx context.Context, env *Env) (Facts, error) {
	if err := create(ctx, env, "a", "b", "c", "d", "e"); err != nil {
		return nil, err
	}
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return env.Jobs().List(ctx, options)
	}
	chunks := pager.New(list)
	chunks.PageSize = 2
	var names []string
	err := chunks.EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
		if len(names) == 0 {
			// Comes after the list's revision, so it must not be seen.
			if err := create(ctx, env, "f"); err != nil {
				return err
			}
		}
		names = append(names, nameOf(obj))
		return nil
	})
	if err != nil {
		return nil, err
	}
	whole, paginated, err := chunks.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	count := 0
	err = pager.New(func(context.Context, metav1.ListOptions) (runtime.Object, error) { return whole, nil }).
		EachListItem(ctx, metav1.ListOptions{}, func(runtime.Object) error { count++; return nil })
	if err != nil {
		return nil, err
	}
	first, err := env.Jobs().List(ctx, metav1.ListOptions{Limit: 4})
	if err != nil {
		return nil, err
	}
	selected, err := env.Jobs().List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=e"})
	if err != nil {
		return nil, err
	}
	return Facts{
		"names": names, "whole": count, "paginated": paginated,
		"remaining": first.GetRemainingItemCount(), "selected": len(selected.Items),
	}, nil
}

// discoverResources finds the kinds in both forms of discovery, and maps what users type to them.
func discoverResources(_ context.Context, env *Env) (Facts, error) {
	facts := Facts{}
	legacy := discovery.NewDiscoveryClientForConfigOrDie(env.Config)
	legacy.UseLegacyDiscovery = true
	for name, client := range map[string]discovery.DiscoveryInterface{"aggregated": env.Discovery, "legacy": legacy} {
		found, err := client.ServerPreferredResources()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		facts[name] = resourceNames(found)
		_, every, err := client.ServerGroupsAndResources()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		facts[name+"All"] = resourceNames(every)
	}
	_, lists, stale, err := discovery.NewDiscoveryClientForConfigOrDie(env.Config).GroupsAndMaybeResources()
	if err != nil {
		return nil, err
	}
	facts["stale"], facts["inOneAnswer"] = len(stale), lists[groupVersion] != nil
	cached := memory.NewMemCacheClient(env.Discovery)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	for _, typed := range []string{"ij", "inferencejob", "inferencejobs", "gn"} {
		kind, err := mapper.KindFor(schema.GroupVersionResource{Resource: typed})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", typed, err)
		}
		facts[typed] = kind.String()
	}
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "ai.example.com", Kind: "InferenceJob"})
	if err != nil {
		return nil, err
	}
	facts["scope"] = string(mapping.Scope.Name())
	expanded, _ := restmapper.NewDiscoveryCategoryExpander(cached).Expand("all")
	for _, resource := range expanded {
		if resource.Resource == "inferencejobs" {
			facts["inAll"] = true
		}
	}
	return facts, nil
}

func resourceNames(lists []*metav1.APIResourceList) []string {
	found := []string{}
	for _, list := range lists {
		if !strings.HasPrefix(list.GroupVersion, "ai.example.com/") {
			continue
		}
		for _, resource := range list.APIResources {
			found = append(found, list.GroupVersion+" "+resource.Name+" "+strings.Join(resource.Verbs, ","))
		}
	}
	return found
}

// tables asks for what kubectl asks for and prints it with kubectl's own printer.
func tables(ctx context.Context, env *Env) (Facts, error) {
	if err := create(ctx, env, "a", "b"); err != nil {
		return nil, err
	}
	const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
	client, parameters, err := typedClient(env)
	if err != nil {
		return nil, err
	}
	table := &metav1.Table{}
	request := client.Get().Namespace(env.Namespace).Resource("inferencejobs").SetHeader("Accept", accept).
		VersionedParams(&metav1.ListOptions{Limit: 500}, parameters)
	if err := request.Do(ctx).Into(table); err != nil {
		return nil, err
	}
	for index := range table.Rows {
		// What kubectl does before it prints: the row's object comes as raw JSON.
		row := &table.Rows[index]
		decoded, _, err := metadataDecoder.Decode(row.Object.Raw, nil, nil)
		if err != nil {
			return nil, err
		}
		row.Object.Object = decoded
	}
	facts := Facts{}
	for name, options := range map[string]printers.PrintOptions{
		"plain": {}, "wide": {Wide: true}, "labels": {ShowLabels: true, WithNamespace: true, NoHeaders: true},
	} {
		var out bytes.Buffer
		// Printing adds columns to the table that is printed.
		if err := printers.NewTablePrinter(options).PrintObj(table.DeepCopy(), &out); err != nil {
			return nil, err
		}
		facts[name] = out.String()
	}
	return facts, nil
}

// retryWatcher resumes from where it was, however often the server or the network ends the watch.
func retryWatcher(ctx context.Context, env *Env) (Facts, error) {
	if err := create(ctx, env, "before"); err != nil {
		return nil, err
	}
	start, err := env.Jobs().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	second := int64(1)
	watched := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.TimeoutSeconds = &second
		return env.Jobs().Watch(ctx, options)
	}}
	watcher, err := toolswatch.NewRetryWatcherWithContext(ctx, start.GetResourceVersion(), watched)
	if err != nil {
		return nil, err
	}
	defer watcher.Stop()
	var events []string
	for index := range 6 {
		name := fmt.Sprintf("job-%d", index)
		if err := create(ctx, env, name); err != nil {
			return nil, err
		}
		if index%2 == 1 {
			env.Requests.Cut()
		}
		for {
			event, open := <-watcher.ResultChan()
			if !open {
				return nil, fmt.Errorf("the watch ended after %v", events)
			}
			if event.Type == watch.Bookmark || event.Type == watch.Modified {
				continue // The controller writes the status whenever it likes.
			}
			events = append(events, string(event.Type)+" "+nameOf(event.Object))
			if nameOf(event.Object) == name {
				break
			}
		}
	}
	return Facts{"events": events}, nil
}

// until waits for a condition with an informer, as `kubectl wait` does, and reports an expired watch.
func until(ctx context.Context, env *Env) (Facts, error) {
	if err := create(ctx, env, "a"); err != nil {
		return nil, err
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = "metadata.name=a"
			return env.Jobs().List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = "metadata.name=a"
			return env.Jobs().Watch(ctx, options)
		},
	}
	done := make(chan error, 1)
	go func() { done <- label(ctx, env, "a", "done") }()
	event, err := toolswatch.UntilWithSync(ctx, source, job("", nil), nil, func(event watch.Event) (bool, error) {
		labelled, ok := event.Object.(interface{ GetLabels() map[string]string })
		return ok && labelled.GetLabels()["step"] == "done", nil
	})
	if err = errors.Join(err, <-done); err != nil {
		return nil, err
	}
	// The test has had the store forget its first revisions.
	expired, err := env.Jobs().Watch(ctx, metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		return nil, err
	}
	defer expired.Stop()
	answer := <-expired.ResultChan()
	return Facts{
		"last": string(event.Type), "expiredType": string(answer.Type),
		"expiredReason": string(apierrors.ReasonForError(apierrors.FromObject(answer.Object))),
	}, nil
}

// scales reads and writes /scale as the horizontal autoscaler does.
func scales(ctx context.Context, env *Env) (Facts, error) {
	if err := create(ctx, env, "a"); err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(env.Discovery)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	kinds := scale.NewDiscoveryScaleKindResolver(env.Discovery)
	client, err := scale.NewForConfig(env.Config, mapper, dynamic.LegacyAPIPathResolverFunc, kinds)
	if err != nil {
		return nil, err
	}
	resource := jobsResource.GroupResource()
	found, err := client.Scales(env.Namespace).Get(ctx, resource, "a", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	found.Spec.Replicas = 3
	updated, err := client.Scales(env.Namespace).Update(ctx, resource, found, metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	_, stale := client.Scales(env.Namespace).Update(ctx, resource, found, metav1.UpdateOptions{})
	patched, err := client.Scales(env.Namespace).Patch(ctx, jobsResource, "a", mergePatch, []byte(`{"spec":{"replicas":4}}`), metav1.PatchOptions{})
	if err != nil {
		return nil, err
	}
	live, err := env.Jobs().Get(ctx, "a", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	raw, err := env.Jobs().Get(ctx, "a", metav1.GetOptions{}, "scale")
	if err != nil {
		return nil, err
	}
	typed := &autoscalingv1.Scale{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(raw.Object, typed, true); err != nil {
		return nil, err
	}
	return Facts{
		"updated": updated.Spec.Replicas, "stale": string(apierrors.ReasonForError(stale)),
		"patched": patched.Spec.Replicas, "live": field(live, "spec", "replicas"), "typed": typed.Spec.Replicas,
	}, nil
}
