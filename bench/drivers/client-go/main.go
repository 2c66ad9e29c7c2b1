// client-go's leaderelection with a Lease, ReleaseOnCancel and the times of Kubernetes' own
// components, whatever the ttl. Its url is the path of a kubeconfig.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func open(kubeconfig string) (*coordination.CoordinationV1Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	// Not protobuf, the default, because Leases are a custom resource on the server of the tests.
	config.ContentType = "application/json"
	// Without the limit of 5 requests a second, which the renewals of ten elections would use up.
	config.QPS = -1
	return coordination.NewForConfig(config)
}

func campaign(client coordination.LeasesGetter, c command) (*leadership, error) {
	started, ended := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: *namespace + "-" + c.Election, Namespace: "default"},
			Client:     client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: fmt.Sprintf("%d-%s", os.Getpid(), c.As)},
		},
		ReleaseOnCancel: true,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(started) },
			OnStoppedLeading: func() { emit("stopped", c, nil) },
		},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		elector.Run(ctx)
		close(ended)
		if ctx.Err() == nil {
			emit("lost", c, fields{"reason": "Run has returned"})
		}
	}()
	<-started
	isLeader := func() bool {
		select {
		case <-ended:
			return false
		default:
			return elector.IsLeader()
		}
	}
	resign := func() error {
		cancel()
		<-ended
		return nil
	}
	return &leadership{isLeader, resign}, nil
}

func main() {
	flag.Parse()
	client, err := open(*endpoint)
	if err != nil {
		panic(err)
	}
	library{campaign: func(c command) (*leadership, error) { return campaign(client, c) }}.speak()
}
