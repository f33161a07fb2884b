package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// log is what an informer has told, in order.
type log struct {
	mutex  sync.Mutex
	events []string
}

func (l *log) add(kind string, obj any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.events = append(l.events, kind+" "+nameOf(obj))
}

func (l *log) copy() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.events)
}

func (l *log) waitFor(ctx context.Context, event string) error {
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 15*time.Second, true, func(context.Context) (bool, error) {
		return slices.Contains(l.copy(), event), nil
	})
	if err != nil {
		return fmt.Errorf("no %q among %v: %w", event, l.copy(), err)
	}
	return nil
}

// follow is the life of an informer: what was there, what comes, a lost connection, what comes then.
func follow(ctx context.Context, env *Env, informer cache.SharedIndexInformer) (Facts, error) {
	if err := create(ctx, env, "a", "b"); err != nil {
		return nil, err
	}
	seen := &log{}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { seen.add("add", obj) },
		UpdateFunc: func(old, obj any) {
			// The controller writes the status whenever it likes.
			if labelOf(old) != labelOf(obj) {
				seen.add("update", obj)
			}
		},
		DeleteFunc: func(obj any) { seen.add("delete", obj) },
	})
	if err != nil {
		return nil, err
	}
	var failures []string
	err = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		failures = append(failures, err.Error())
	})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	go informer.RunWithContext(running)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, errors.New("the informer did not sync")
	}
	first := informer.GetStore().ListKeys()
	slices.Sort(first)
	steps := []struct {
		do    func() error
		event string
	}{
		{func() error { return create(ctx, env, "c") }, "add c"},
		{func() error { return label(ctx, env, "a", "1") }, "update a"},
		{func() error { env.Requests.Cut(); return create(ctx, env, "d") }, "add d"},
		{func() error { return env.Jobs().Delete(ctx, "b", metav1.DeleteOptions{}) }, "delete b"},
		{func() error { return env.Jobs().Delete(ctx, "d", metav1.DeleteOptions{}) }, "delete d"},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return nil, err
		}
		if err := seen.waitFor(ctx, step.event); err != nil {
			return nil, err
		}
	}
	last := informer.GetStore().ListKeys()
	slices.Sort(last)
	return Facts{
		"first": first, "last": last, "events": seen.copy(), "failures": failures,
		"resourceVersion": informer.LastSyncResourceVersion(),
	}, nil
}

func dynamicInformer(ctx context.Context, env *Env) (Facts, error) {
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(env.Dynamic, 0, env.Namespace, nil)
	return follow(ctx, env, factory.ForResource(jobsResource).Informer())
}

func metadataInformer(ctx context.Context, env *Env) (Facts, error) {
	factory := metadatainformer.NewFilteredSharedInformerFactory(env.Metadata, 0, env.Namespace, nil)
	return follow(ctx, env, factory.ForResource(jobsResource).Informer())
}

func typedInformer(ctx context.Context, env *Env) (Facts, error) {
	client, _, err := typedClient(env)
	if err != nil {
		return nil, err
	}
	source := cache.NewListWatchFromClient(client, "inferencejobs", env.Namespace, fields.Everything())
	facts, err := follow(ctx, env, cache.NewSharedIndexInformer(source, &InferenceJob{}, 0, cache.Indexers{}))
	return facts, err
}

// legacyInformer lists first and watches then, as client-go did before 1.35.
func legacyInformer(ctx context.Context, env *Env) (Facts, error) {
	if os.Getenv("KUBE_FEATURE_WatchListClient") != "false" {
		return nil, errors.New("set KUBE_FEATURE_WatchListClient=false")
	}
	return dynamicInformer(ctx, env)
}

// survive keeps three informers through whatever the test does to the servers, from the moment that it creates
// the job "ready" until somebody else creates "stop", and compares their copies with a list.
func survive(ctx context.Context, env *Env) (Facts, error) {
	client, _, err := typedClient(env)
	if err != nil {
		return nil, err
	}
	source := cache.NewListWatchFromClient(client, "inferencejobs", env.Namespace, fields.Everything())
	informers := map[string]cache.SharedIndexInformer{
		"typed": cache.NewSharedIndexInformer(source, &InferenceJob{}, 0, cache.Indexers{}),
		"dynamic": dynamicinformer.NewFilteredDynamicSharedInformerFactory(env.Dynamic, 0, env.Namespace, nil).
			ForResource(jobsResource).Informer(),
		"metadata": metadatainformer.NewFilteredSharedInformerFactory(env.Metadata, 0, env.Namespace, nil).
			ForResource(jobsResource).Informer(),
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	logs := map[string]*log{}
	for name, informer := range informers {
		seen := &log{}
		logs[name] = seen
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { seen.add("add", obj) },
			DeleteFunc: func(obj any) { seen.add("delete", obj) },
		})
		if err != nil {
			return nil, err
		}
		go informer.RunWithContext(running)
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return nil, fmt.Errorf("the %s informer did not sync", name)
		}
	}
	if err := create(ctx, env, "ready"); err != nil {
		return nil, err
	}
	facts := Facts{}
	for name, informer := range informers {
		var difference string
		err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			if !slices.Contains(logs[name].copy(), "add stop") {
				return false, nil
			}
			listed, err := env.Jobs().List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, nil // The server is away; so is the answer.
			}
			live := map[string]string{}
			for _, item := range listed.Items {
				live[item.GetName()] = item.GetResourceVersion()
			}
			kept := map[string]string{}
			for _, item := range informer.GetStore().List() {
				accessor, err := meta.Accessor(item)
				if err != nil {
					return false, err
				}
				kept[accessor.GetName()] = accessor.GetResourceVersion()
			}
			difference = fmt.Sprintf("live %v, kept %v", live, kept)
			return maps.Equal(live, kept), nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %v; %s", name, err, logs[name].copy(), difference)
		}
		facts[name] = logs[name].copy()
	}
	return facts, nil
}
