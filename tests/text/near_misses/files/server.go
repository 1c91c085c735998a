package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"
)

type config struct {
	address string
	timeout time.Duration
	workers int
}

func readConfig(path string) (config, error) {
	file, err := os.Open(path)
	if err != nil {
		return config{}, err
	}
	defer file.Close()

	var settings config
	if err := json.NewDecoder(file).Decode(&settings); err != nil {
		return config{}, err
	}
	if settings.workers == 0 {
		settings.workers = 4
	}
	return settings, nil
}

func health(writer http.ResponseWriter, request *http.Request) {
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(http.StatusOK)
	writer.Write([]byte(`{"status": "up"}`))
}

func ready(writer http.ResponseWriter, request *http.Request) {
	writer.Header().Set("Content-Type", "application/json")
	if !queue.Ready() {
		writer.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	writer.WriteHeader(http.StatusOK)
}

func serve(settings config) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/health", health)
	mux.HandleFunc("/ready", ready)

	server := &http.Server{
		Addr:         settings.address,
		Handler:      mux,
		ReadTimeout:  settings.timeout,
		WriteTimeout: settings.timeout,
	}

	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt)

	go func() {
		<-stopped
		limit, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		server.Shutdown(limit)
	}()

	log.Printf("listening on %s", settings.address)
	err := server.ListenAndServe()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func main() {
	settings, err := readConfig("config.json")
	if err != nil {
		log.Fatal(err)
	}
	if err := serve(settings); err != nil {
		log.Fatal(err)
	}
}
