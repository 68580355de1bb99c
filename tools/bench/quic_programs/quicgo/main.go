// SPDX-License-Identifier: MIT OR Apache-2.0

// quicgo serve WAY LOG, or quicgo connect ADDRESS WAY LOG SECONDS CONNECTIONS: see tools/bench/quic.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"golang.org/x/sys/unix"
)

const address = ":4433"

var moved atomic.Int64

type counter struct{}

func (counter) Write(data []byte) (int, error) {
	moved.Add(int64(len(data)))
	return len(data), nil
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "quicgo:", err)
		os.Exit(1)
	}
	return value
}

func sample(path string) {
	file := must(os.Create(path))
	for {
		var now unix.Timespec
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
		fmt.Fprintf(file, "%.3f %d\n", float64(now.Nano())/1e9, moved.Load())
		time.Sleep(50 * time.Millisecond)
	}
}

func move(stream *quic.Stream, sends bool) {
	var err error
	for data := make([]byte, 1<<16); sends && err == nil; {
		_, err = stream.Write(data)
	}
	if !sends {
		_, err = io.Copy(counter{}, stream)
	}
	fmt.Fprintln(os.Stderr, "quicgo: a connection has ended:", err)
}

func serve(sends bool, configuration *quic.Config) {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	made := must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	certificate := tls.Certificate{Certificate: [][]byte{made}, PrivateKey: key}
	settings := &tls.Config{NextProtos: []string{"bench"}, Certificates: []tls.Certificate{certificate}}
	for listener := must(quic.ListenAddr(address, settings, configuration)); ; {
		connection := must(listener.Accept(context.Background()))
		go func() { move(must(connection.AcceptStream(context.Background())), sends) }()
	}
}

func main() {
	configuration := &quic.Config{KeepAlivePeriod: 5 * time.Second}
	if os.Args[1] == "serve" {
		sends := os.Args[2] == "down"
		if !sends {
			go sample(os.Args[3])
		}
		serve(sends, configuration)
	}
	sends := os.Args[3] == "up"
	if !sends {
		go sample(os.Args[4])
	}
	settings := &tls.Config{NextProtos: []string{"bench"}, InsecureSkipVerify: true}
	for range must(strconv.Atoi(os.Args[6])) {
		connection := must(quic.DialAddr(context.Background(), os.Args[2]+address, settings, configuration))
		stream := must(connection.OpenStreamSync(context.Background()))
		must(stream.Write([]byte("begin")))
		go move(stream, sends)
	}
	time.Sleep(time.Duration(must(strconv.Atoi(os.Args[5]))) * time.Second)
}
