// Go's etcd client: concurrency.Session and concurrency.Election. `raw`: its client alone, one
// watch and one transaction.
package main

import (
	"context"
	"flag"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

var (
	client   *clientv3.Client
	ctx      = context.Background()
	sessions = map[string]*concurrency.Session{}
)

// One session for the candidates of a name.
func session(as string) (*concurrency.Session, error) {
	mutex.Lock()
	defer mutex.Unlock()
	if known, ok := sessions[as]; ok {
		return known, nil
	}
	opened, err := concurrency.NewSession(client, concurrency.WithTTL((*ttlMs+999)/1000))
	if err == nil {
		sessions[as] = opened
	}
	return opened, err
}

func campaign(c command) (*leadership, error) {
	s, err := session(c.As)
	if err != nil {
		return nil, err
	}
	election := concurrency.NewElection(s, *namespace+"/"+c.Election)
	if err := election.Campaign(ctx, c.As); err != nil {
		return nil, err
	}
	over := false
	go func() {
		<-s.Done()
		over = true
		emit("lost", c, fields{"reason": "session done"})
	}()
	isLeader := func() bool {
		select {
		case <-s.Done():
			return false
		default:
			return !over
		}
	}
	return &leadership{isLeader, func() error { over = true; return election.Resign(ctx) }}, nil
}

func raw(c command) (*leadership, error) {
	key := *namespace + "/" + c.Election
	for {
		put, err := client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).Then(clientv3.OpPut(key, "x")).Commit()
		if err != nil {
			return nil, err
		}
		if put.Succeeded {
			return &leadership{func() bool { return true }, func() error { _, err := client.Delete(ctx, key); return err }}, nil
		}
		watching, stop := context.WithCancel(ctx)
		for response := range client.Watch(watching, key, clientv3.WithRev(put.Header.Revision)) {
			gone := false
			for _, event := range response.Events {
				gone = event.Type == clientv3.EventTypeDelete
			}
			if gone {
				break
			}
		}
		stop()
	}
}

func observe(c command) error {
	s, err := session(c.As)
	if err != nil {
		return err
	}
	for i := 0; i < c.Times; i++ {
		go func() {
			for response := range concurrency.NewElection(s, *namespace+"/"+c.Election).Observe(ctx) {
				if len(response.Kvs) > 0 {
					emit("told", c, fields{"leader": string(response.Kvs[0].Value)})
				}
			}
		}()
	}
	return nil
}

func main() {
	flag.Parse()
	opened, err := clientv3.New(clientv3.Config{Endpoints: []string{*endpoint}, DialTimeout: 5 * time.Second})
	if err != nil {
		panic(err)
	}
	client = opened
	enter := campaign
	if *mode == "raw" {
		enter = raw
	}
	library{campaign: enter, observe: observe}.speak()
}
