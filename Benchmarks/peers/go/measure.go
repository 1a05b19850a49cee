// Shared by both clients: the command line, the clocks, the three workloads, and the line printed at the end.
package main

import (
	"fmt"
	"log"
	"os"
	"sort"
	"strconv"
	"syscall"
	"time"
)

// connection is the API of a library: it writes and reads whole messages.
type connection interface {
	write(isText bool, payload []byte) error
	read() (isText bool, payload []byte, err error)
}

type measure struct {
	mode, port  string
	size, count int
	warmUp      int // round trips before the clock starts
	wall        time.Time
	cpu         time.Duration
	seconds     float64
	cpuSeconds  float64
	samples     []float64 // of each round trip, in microseconds
}

func parse() *measure {
	if len(os.Args) != 5 {
		log.Fatal("usage: MODE PORT SIZE COUNT")
	}
	size, _ := strconv.Atoi(os.Args[3])
	count, _ := strconv.Atoi(os.Args[4])
	m := &measure{mode: os.Args[1], port: os.Args[2], size: size, count: count, warmUp: count/10 + 1}
	if m.warmUp > 2000 {
		m.warmUp = 2000
	}
	return m
}

func (m *measure) url() string {
	paths := map[string]string{"ping": "/echo", "receive": "/blast", "send": "/sink"}
	return "ws://127.0.0.1:" + m.port + paths[m.mode]
}

func cpu() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func (m *measure) start() {
	m.wall, m.cpu = time.Now(), cpu()
}

func (m *measure) stop() {
	m.seconds, m.cpuSeconds = time.Since(m.wall).Seconds(), (cpu() - m.cpu).Seconds()
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func check(what string, got, wanted int) {
	if got != wanted {
		log.Fatalf("%s: %d instead of %d", what, got, wanted)
	}
}

func (m *measure) run(c connection) {
	switch m.mode {
	case "ping":
		m.ping(c)
	case "receive":
		m.receive(c)
	case "send":
		m.send(c)
	default:
		log.Fatalf("unknown mode %q", m.mode)
	}
	m.print()
}

func (m *measure) ping(c connection) {
	payload := make([]byte, m.size)
	m.samples = make([]float64, 0, m.count)
	for trip := 0; trip < m.warmUp+m.count; trip++ {
		if trip == m.warmUp {
			m.start()
		}
		sent := time.Now()
		must(c.write(false, payload))
		_, echo, err := c.read()
		must(err)
		if trip >= m.warmUp {
			m.samples = append(m.samples, float64(time.Since(sent).Nanoseconds())/1e3)
		}
		check("size of an echo", len(echo), m.size)
	}
	m.stop()
}

func (m *measure) receive(c connection) {
	received := 0
	m.start()
	must(c.write(true, []byte(fmt.Sprintf("%d %d", m.count, m.size))))
	for {
		isText, message, err := c.read()
		must(err)
		if isText {
			break
		}
		check("size of a message", len(message), m.size)
		received++
	}
	m.stop()
	check("messages", received, m.count)
}

func (m *measure) send(c connection) {
	payload := make([]byte, m.size)
	m.start()
	for sent := 0; sent < m.count; sent++ {
		must(c.write(false, payload))
	}
	must(c.write(true, []byte("end")))
	_, answer, err := c.read()
	must(err)
	m.stop()
	counted, err := strconv.Atoi(string(answer))
	must(err)
	check("messages", counted, m.count)
}

func (m *measure) print() {
	fmt.Printf(`{"messages": %d, "seconds": %.9f, "cpu": %.9f`, m.count, m.seconds, m.cpuSeconds)
	if n := len(m.samples); n > 0 {
		sort.Float64s(m.samples)
		fmt.Printf(`, "p50": %.3f, "p99": %.3f`, m.samples[n/2], m.samples[n*99/100])
	}
	fmt.Println("}")
}
