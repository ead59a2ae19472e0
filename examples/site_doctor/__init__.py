"""What `make demo` shows: a small agent, a backend that receives its telemetry, and a page that prints it."""
