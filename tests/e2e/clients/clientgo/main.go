// Command clientgo does what programs built on client-go do, against inferencejobs of a real cluster.
//
// Each scenario prints one JSON object: what was seen, not what was expected. The tests beside it judge.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Facts is what a scenario has seen, by name.
type Facts map[string]any

// Scenario is one way of using client-go.
type Scenario func(context.Context, *Env) (Facts, error)

var scenarios = map[string]Scenario{
	"apply":               apply,
	"discovery":           discoverResources,
	"dynamic-informer":    dynamicInformer,
	"extract":             extract,
	"legacy-informer":     legacyInformer,
	"metadata-informer":   metadataInformer,
	"operator":            operate,
	"pager":               pages,
	"patch-and-delete":    patchAndDelete,
	"retry-on-conflict":   retryOnConflict,
	"retry-watcher":       retryWatcher,
	"scale":               scales,
	"survive":             survive,
	"table":               tables,
	"typed-informer":      typedInformer,
	"until":               until,
	"collection-deletion": deleteCollection,
}

// Env is one user's access to one namespace.
type Env struct {
	Config    *rest.Config
	Namespace string
	Requests  *Recorder
	Dynamic   dynamic.Interface
	Metadata  metadata.Interface
	Discovery discovery.DiscoveryInterface
}

// Jobs is the dynamic client of the inferencejobs of the namespace.
func (e *Env) Jobs() dynamic.ResourceInterface {
	return e.Dynamic.Resource(jobsResource).Namespace(e.Namespace)
}

func newEnv(kubeconfig, namespace string) (*Env, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 500, 500
	config.UserAgent = "clientgo/1 (scenario)"
	env := &Env{Config: config, Namespace: namespace, Requests: &Recorder{}}
	config.Wrap(env.Requests.Wrap)
	if env.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if env.Metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, err
	}
	env.Discovery, err = discovery.NewDiscoveryClientForConfig(config)
	return env, err
}

func run() error {
	// A set of its own, for controller-runtime puts flags into the common one.
	flags := flag.NewFlagSet("clientgo", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "path of the kubeconfig")
	namespace := flags.String("namespace", "default", "namespace to work in")
	seconds := flags.Int("timeout", 100, "seconds that the scenario may take")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	names := make([]string, 0, len(scenarios))
	for name := range scenarios {
		names = append(names, name)
	}
	slices.Sort(names)
	scenario, known := scenarios[flags.Arg(0)]
	if !known {
		return fmt.Errorf("name one scenario of: %s", strings.Join(names, ", "))
	}
	env, err := newEnv(*kubeconfig, *namespace)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(*seconds)*time.Second)
	defer cancel()
	facts, err := scenario(ctx, env)
	if err != nil {
		return fmt.Errorf("%w; requests so far: %s", err, strings.Join(env.Requests.Seen(), "; "))
	}
	facts["requests"] = env.Requests.Seen()
	return json.NewEncoder(os.Stdout).Encode(facts)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
