"""Counts requests and decisions for Prometheus, without names of people."""

import prometheus_client


class Metrics:
    """Numbers of requests, decisions and wrong tokens."""

    def __init__(self):
        self._registry = prometheus_client.CollectorRegistry()
        self._requests = prometheus_client.Counter(
            "keras_dml_requests",
            "Requests to which the server has responded.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._seconds = prometheus_client.Histogram(
            "keras_dml_request_seconds",
            "Seconds between a request and the response.",
            ["route"],
            registry=self._registry,
        )
        self._decisions = prometheus_client.Counter(
            "keras_dml_decisions",
            "Decisions on recordings.",
            ["kind", "answer"],
            registry=self._registry,
        )
        self._wrong_tokens = prometheus_client.Counter(
            "keras_dml_wrong_tokens", "Requests with a wrong token.", registry=self._registry
        )

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Adds a request and its duration to the metrics of its route."""
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def count_decision(self, kind: str, answer: str) -> None:
        """Counts a decision by its kind (such as "verify") and its answer (such as "accepted")."""
        self._decisions.labels(kind, answer).inc()

    def count_wrong_token(self) -> None:
        """Counts a wrong token."""
        self._wrong_tokens.inc()

    def text(self) -> bytes:
        """Returns all counts in the text format of Prometheus."""
        return prometheus_client.generate_latest(self._registry)


CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST
