// Go's etcd client: concurrency.Session and concurrency.Election. `raw`: its client alone, one watch and one transaction.
//
// Speaks the protocol of speak.ts; stamps are CLOCK_MONOTONIC, read by clock_gettime, as process.hrtime is.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
	"golang.org/x/sys/unix"
)

type command struct {
	Do       string `json:"do"`
	Election string `json:"election"`
	As       string `json:"as"`
	Times    int    `json:"times"`
}

type held struct {
	isLeader func() bool
	resign   func() error
}

var (
	endpoint  = flag.String("url", "", "")
	namespace = flag.String("namespace", "bench", "")
	ttlMs     = flag.Int("ttl", 10000, "")
	mode      = flag.String("mode", "", "")

	client   *clientv3.Client
	ctx      = context.Background()
	printing sync.Mutex
	mutex    sync.Mutex
	sessions = map[string]*concurrency.Session{}
	holding  = map[string]*held{}
)

func now() string {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return strconv.FormatInt(t.Nano(), 10)
}

func emit(event string, c command, fields map[string]interface{}) {
	line := map[string]interface{}{"event": event, "at": now(), "election": c.Election, "as": c.As}
	for name, value := range fields {
		line[name] = value
	}
	bytes, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	printing.Lock()
	defer printing.Unlock()
	os.Stdout.Write(append(bytes, '\n'))
}

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

func campaign(c command) (*held, error) {
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
		emit("lost", c, map[string]interface{}{"reason": "session done"})
	}()
	isLeader := func() bool {
		select {
		case <-s.Done():
			return false
		default:
			return !over
		}
	}
	return &held{isLeader, func() error { over = true; return election.Resign(ctx) }}, nil
}

func raw(c command) (*held, error) {
	key := *namespace + "/" + c.Election
	for {
		put, err := client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).Then(clientv3.OpPut(key, "x")).Commit()
		if err != nil {
			return nil, err
		}
		if put.Succeeded {
			return &held{func() bool { return true }, func() error { _, err := client.Delete(ctx, key); return err }}, nil
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

func obey(c command) error {
	since := now()
	key := c.Election + "/" + c.As
	switch c.Do {
	case "campaign":
		enter := campaign
		if *mode == "raw" {
			enter = raw
		}
		elected, err := enter(c)
		if err != nil {
			return err
		}
		at := now()
		mutex.Lock()
		holding[key] = elected
		mutex.Unlock()
		emit("leads", c, map[string]interface{}{"since": since, "at": at})
	case "resign":
		mutex.Lock()
		leading := holding[key]
		delete(holding, key)
		mutex.Unlock()
		if err := leading.resign(); err != nil {
			return err
		}
		emit("resigned", c, map[string]interface{}{"since": since})
	case "observe":
		s, err := session(c.As)
		if err != nil {
			return err
		}
		for i := 0; i < c.Times; i++ {
			go func() {
				for response := range concurrency.NewElection(s, *namespace+"/"+c.Election).Observe(ctx) {
					if len(response.Kvs) > 0 {
						emit("told", c, map[string]interface{}{"leader": string(response.Kvs[0].Value)})
					}
				}
			}()
		}
		emit("observes", c, map[string]interface{}{"since": since})
	case "reportLeading":
		go func() {
			for range time.Tick(5 * time.Millisecond) {
				from := now()
				mutex.Lock()
				leading := holding[key]
				mutex.Unlock()
				if leading != nil && leading.isLeader() {
					emit("leading", c, map[string]interface{}{"from": from})
				}
			}
		}()
	case "collect":
		debug.FreeOSMemory()
		emit("collected", c, nil)
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
	emit("ready", command{}, nil)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			panic(err)
		}
		go func() {
			if err := obey(c); err != nil {
				emit("failed", c, map[string]interface{}{"error": err.Error()})
			}
		}()
	}
}
