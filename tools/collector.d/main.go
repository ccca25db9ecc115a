// A collector of OpenTelemetry for tests: the project's own receiver of OTLP over HTTP, as every distribution of the collector has
// it, which writes what it has understood to standard output: a JSON object a line, for each message.
//
// It must not know weft. Invariant: what is written went through the receiver and the collector's own model of spans.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "collector:", err)
		os.Exit(1)
	}
}

// run receives at an address until it is told to end.
func run(address string) error {
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	settings := map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": address}}}
	if err := confmap.NewFromStringMap(settings).Unmarshal(config); err != nil {
		return err
	}
	writer, err := consumer.NewTraces(write)
	if err != nil {
		return err
	}
	of := receiver.Settings{
		ID:                component.NewID(factory.Type()),
		TelemetrySettings: componenttest.NewNopTelemetrySettings(),
	}
	traces, err := factory.CreateTraces(context.Background(), of, config, writer)
	if err != nil {
		return err
	}
	if err := traces.Start(context.Background(), componenttest.NewNopHost()); err != nil {
		return err
	}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	<-ends
	return traces.Shutdown(context.Background())
}

func write(_ context.Context, traces ptrace.Traces) error {
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(text, '\n'))
	return err
}
