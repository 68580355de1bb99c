// SPDX-License-Identifier: MIT OR Apache-2.0

// Command cri calls a container runtime over the Container Runtime Interface, as a kubelet does:
//
//	cri SOCKET version
//	cri SOCKET run-pod POD.json                       prints the pod's id
//	cri SOCKET create POD-ID CONTAINER.json POD.json  prints the container's id
//	cri SOCKET start CONTAINER-ID
//	cri SOCKET remove-pod POD-ID
//
// The files have PodSandboxConfig and ContainerConfig of k8s.io/cri-api. tests/nri/build builds it among containerd's sources,
// with the versions of its libraries.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func read(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func run(arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("usage: cri SOCKET COMMAND [ARGUMENT...]")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	connection, err := grpc.NewClient("unix://"+arguments[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	runtime := cri.NewRuntimeServiceClient(connection)

	command, rest := arguments[1], arguments[2:]
	switch {
	case command == "version" && len(rest) == 0:
		answer, err := runtime.Version(ctx, &cri.VersionRequest{})
		if err != nil {
			return err
		}
		fmt.Println(answer.RuntimeName, answer.RuntimeVersion)
	case command == "run-pod" && len(rest) == 1:
		pod := &cri.PodSandboxConfig{}
		if err := read(rest[0], pod); err != nil {
			return err
		}
		answer, err := runtime.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: pod})
		if err != nil {
			return err
		}
		fmt.Println(answer.PodSandboxId)
	case command == "create" && len(rest) == 3:
		container, pod := &cri.ContainerConfig{}, &cri.PodSandboxConfig{}
		if err := errors.Join(read(rest[1], container), read(rest[2], pod)); err != nil {
			return err
		}
		request := &cri.CreateContainerRequest{PodSandboxId: rest[0], Config: container, SandboxConfig: pod}
		answer, err := runtime.CreateContainer(ctx, request)
		if err != nil {
			return err
		}
		fmt.Println(answer.ContainerId)
	case command == "start" && len(rest) == 1:
		_, err := runtime.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: rest[0]})
		return err
	case command == "remove-pod" && len(rest) == 1:
		if _, err := runtime.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: rest[0]}); err != nil {
			return err
		}
		_, err := runtime.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: rest[0]})
		return err
	default:
		return fmt.Errorf("unknown command or wrong number of arguments: %v", arguments[1:])
	}
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cri:", err)
		os.Exit(1)
	}
}
