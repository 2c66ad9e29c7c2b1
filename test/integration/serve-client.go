// A client of `incumbent serve` in Go, with its standard library alone.
//
// usage: serve-client http://127.0.0.1:4040 ELECTION ID
//
// One goroutine asks, and the other one works. Prints "work TERM TIME" every 10 ms while it leads.
// TIME is the reading of the clock, in ns, that the client has compared with its deadline.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const askEvery = 200 * time.Millisecond

// candidacy is what the sidecar answers.
type candidacy struct {
	State      string
	Term       string
	ValidForMs int64
	Secret     string
}

// statusError is an answer that is an error.
type statusError int

func (status statusError) Error() string { return fmt.Sprintf("the sidecar answers %d", int(status)) }

var (
	path   = fmt.Sprintf("%s/elections/%s/candidacies/%s", os.Args[1], os.Args[2], os.Args[3])
	client = http.Client{Timeout: time.Second}
	secret string

	// The term and the deadline. The lock is held during each act.
	acting   sync.Mutex
	term     string
	deadline time.Time
)

func call(method, path, body string) (candidacy, error) {
	var answer candidacy
	request, err := http.NewRequest(method, path, bytes.NewBufferString(body))
	if err != nil {
		return answer, err
	}
	request.Header.Set("content-type", "application/json")
	if secret != "" {
		request.Header.Set("candidacy-secret", secret)
	}
	response, err := client.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		return answer, statusError(response.StatusCode)
	}
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}

func get(path string) (candidacy, error) { return call("GET", path, "") }

func ask() error {
	if secret == "" {
		made, err := call("PUT", path, `{"renewWithinMs":2000}`)
		if err != nil {
			return err
		}
		secret = made.Secret
	}
	asked := time.Now()
	answer, err := get(path)
	if err != nil {
		return err
	}
	until := asked.Add(time.Duration(answer.ValidForMs) * time.Millisecond)
	acting.Lock()
	term, deadline = answer.Term, until
	acting.Unlock()
	if answer.State == "stopping" {
		_, err = call("POST", path+"/acknowledge", fmt.Sprintf(`{"term":%q}`, answer.Term))
	}
	return err
}

// monotonicNs reads the clock that all processes of the machine share.
func monotonicNs() int64 {
	const clockMonotonic = 1
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

// origin returns the same moment as a time, and as a reading of the shared clock. The process may be
// interrupted between the two readings, so the closest of many pairs counts.
func origin() (time.Time, int64) {
	var at time.Time
	var atNs int64
	closest := int64(1 << 62)
	for i := 0; i < 100; i++ {
		before := monotonicNs()
		now := time.Now()
		if gap := monotonicNs() - before; gap < closest {
			at, atNs, closest = now, before, gap
		}
	}
	return at, atNs
}

func work() {
	startedAt, startedNs := origin()
	for {
		acting.Lock()
		now := time.Now()
		if now.Before(deadline) {
			fmt.Printf("work %s %d\n", term, startedNs+now.Sub(startedAt).Nanoseconds())
		}
		acting.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
}

func main() {
	go work()
	for {
		// 404: the candidacy is over. 409: a former one is not over yet.
		if err := ask(); err == statusError(404) || err == statusError(409) {
			secret = ""
		}
		time.Sleep(askEvery)
	}
}
