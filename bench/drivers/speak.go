// The protocol of a driver, for drivers in Go. The build puts this file beside the driver's own,
// and both are package main.
//
// Commands and events are those of speak.ts. Timestamps are CLOCK_MONOTONIC, read by clock_gettime,
// as process.hrtime reads it.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

type command struct {
	Do       string `json:"do"`
	Election string `json:"election"`
	As       string `json:"as"`
	Times    int    `json:"times"`
}

type fields = map[string]interface{}

type leadership struct {
	isLeader func() bool
	// Returns when the library reports that the leadership has ended.
	resign func() error
}

// A library, as a driver uses it.
type library struct {
	// Returns when elected.
	campaign func(command) (*leadership, error)
	// Starts the observers. Nil if the library has none.
	observe func(command) error
}

var (
	endpoint  = flag.String("url", "", "")
	namespace = flag.String("namespace", "bench", "")
	ttlMs     = flag.Int("ttl", 10000, "")
	mode      = flag.String("mode", "", "")

	printing sync.Mutex
	mutex    sync.Mutex
	leading  = map[string]*leadership{}
)

// How often a leader that received reportLeading checks whether it leads.
const sampleEvery = 5 * time.Millisecond

func now() string {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return strconv.FormatInt(t.Nano(), 10)
}

func emit(event string, c command, more fields) {
	line := fields{"event": event, "at": now(), "election": c.Election, "as": c.As}
	for name, value := range more {
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

func (l library) obey(c command) error {
	since := now()
	key := c.Election + "/" + c.As
	switch c.Do {
	case "campaign":
		elected, err := l.campaign(c)
		if err != nil {
			return err
		}
		at := now()
		mutex.Lock()
		leading[key] = elected
		mutex.Unlock()
		emit("leads", c, fields{"since": since, "at": at})
	case "resign":
		mutex.Lock()
		leader := leading[key]
		delete(leading, key)
		mutex.Unlock()
		if err := leader.resign(); err != nil {
			return err
		}
		emit("resigned", c, fields{"since": since})
	case "observe":
		if err := l.observe(c); err != nil {
			return err
		}
		emit("observes", c, fields{"since": since})
	case "reportLeading":
		go func() {
			for range time.Tick(sampleEvery) {
				from := now()
				mutex.Lock()
				leader := leading[key]
				mutex.Unlock()
				if leader != nil && leader.isLeader() {
					emit("leading", c, fields{"from": from})
				}
			}
		}()
	case "collect":
		debug.FreeOSMemory()
		emit("collected", c, nil)
	}
	return nil
}

// Carries out commands until standard input ends. The flags must have been parsed.
func (l library) speak() {
	emit("ready", command{}, nil)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			panic(err)
		}
		go func() {
			if err := l.obey(c); err != nil {
				emit("failed", c, fields{"error": err.Error()})
			}
		}()
	}
}
