"""Whether somebody listens where telemetry is sent to, and on a port of the protocol that is spoken."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from .exporting import GRPC_PORT
from .findings import Finding

Protocol: TypeAlias = Literal["http", "grpc"]

HTTP_PORT: Final = 4318
CONNECT_S: Final = 1.0
"""For one address. A doctor is asked by a person."""
_PORTS: Final = {"http": 80, "https": 443}


class End(NamedTuple):
    """Where an exporter sends to: an address as it was written, and the protocol, None where it is not known."""

    endpoint: str
    protocol: Protocol | None


def end_of(exporter: Any) -> End | None:
    """Where an OTLP exporter of the SDK's sends to; None for every other."""
    endpoint = getattr(exporter, "_endpoint", None)
    if not isinstance(endpoint, str):
        return None
    return End(endpoint, protocol_of(type(exporter).__module__))


def protocol_of(name: str) -> Protocol | None:
    """The protocol of an exporter's module, or of what ``OTEL_EXPORTER_OTLP_PROTOCOL`` says."""
    return "grpc" if "grpc" in name else "http" if "http" in name else None


def without_login(url: str) -> str:
    """An address without a name and password in it."""
    scheme, found, rest = url.partition("://")
    return f"{scheme}{found}{rest.rpartition('@')[2]}" if found else url.rpartition("@")[2]


def reach_found(ends: Iterable[End]) -> Iterator[Finding]:
    """What is wrong with the addresses: each is connected to once, and sent nothing."""
    places = {(address, end.protocol): None for end in ends if (address := _address(end.endpoint)) is not None}
    for (_, port), protocol in places:
        if (port, protocol) == (HTTP_PORT, "grpc"):
            fix = f"Send to port {GRPC_PORT}, or set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, where the SDK reads it."
            yield Finding("warn", "endpoint", f"{port} is mostly the port of OTLP over HTTP; this is sent by gRPC", fix)
        elif (port, protocol) == (GRPC_PORT, "http"):
            fix = f"Send to port {HTTP_PORT}, or set OTEL_EXPORTER_OTLP_PROTOCOL=grpc, where the SDK reads it."
            yield Finding("warn", "endpoint", f"{port} is mostly the port of OTLP over gRPC; this is sent by HTTP", fix)
    for host, port in dict.fromkeys(address for address, _ in places):
        why = _not_reached(host, port)
        if why is not None:
            fix = "Start what takes telemetry there, or mend the address (OTEL_EXPORTER_OTLP_ENDPOINT, otlp=)."
            yield Finding("wrong", "endpoint", f"nothing answers at {host}:{port} ({why})", fix)


def _address(endpoint: str) -> tuple[str, int] | None:
    """The host and port; None where they cannot be told, and where a proxy stands before them."""
    try:
        parts = urlsplit(endpoint if "://" in endpoint else f"//{endpoint}")
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not host or port is None or parts.scheme not in {"", *_PORTS}:
        return None
    return None if getproxies().get(parts.scheme or "http") and not proxy_bypass(host) else (host, port)


def _not_reached(host: str, port: int) -> str | None:
    try:
        socket.create_connection((host, port), timeout=CONNECT_S).close()
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
    return None
