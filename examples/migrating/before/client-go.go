package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func main() {
	log.SetFlags(log.LstdFlags | log.Lmicroseconds | log.LUTC)
	hostname, _ := os.Hostname()
	identity := flag.String("identity", hostname, "who this process is")
	namespace := flag.String("namespace", "my-app", "where the Lease is")
	every := flag.Duration("every", time.Second, "the time between two passes")
	flag.Parse()

	// Without KUBECONFIG, the service account of the pod.
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		log.Fatal(err)
	}
	// Not protobuf, the default, so that the program also runs where Leases are a custom resource.
	config.ContentType = "application/json"
	client, err := coordination.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "controller", Namespace: *namespace},
			Client:     client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: *identity},
		},
		ReleaseOnCancel: true,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { reconcile(ctx, *every) },
			OnStoppedLeading: func() { log.Print("stopped leading") },
			OnNewLeader:      func(identity string) { log.Printf("the new leader is %s", identity) },
		},
	})
}

func reconcile(ctx context.Context, every time.Duration) {
	for ctx.Err() == nil {
		log.Print("reconciles")
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}
