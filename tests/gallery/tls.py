"""Runs a TLS proxy for a PostgreSQL server that was built without TLS."""

import contextlib
import datetime
import select
import socket
import socketserver
import ssl
import threading

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

SSL_REQUEST = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big")  # of PostgreSQL's protocol
GSS_REQUEST = (8).to_bytes(4, "big") + (80877104).to_bytes(4, "big")
CHUNK = 65536


def write_certificates(folder, host):
    """Writes the certificate `ca.crt` of an authority, and `server.crt` and `server.key`."""
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _certificate("authority", authority_key, "authority", authority_key, None)
    certificate = _certificate(host, key, "authority", authority_key, host)
    (folder / "ca.crt").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    (folder / "server.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "server.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def _certificate(name, key, issuer, issuer_key, host):
    now = datetime.datetime.now(datetime.UTC)
    subject, issuer = (
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)]) for text in (name, issuer)
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=host is None, path_length=None), critical=True)
    )
    if host is not None:
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


@contextlib.contextmanager
def proxy(socket_path, folder=None):
    """Runs a proxy that forwards connections to the socket of a server.

    Args:
        socket_path: Path of the socket of the server.
        folder: Folder with the files of `write_certificates`. With a folder, the proxy refuses
            connections without TLS. If None (the default), the proxy does not offer TLS.

    Yields:
        The port of the proxy at 127.0.0.1.
    """
    context = None
    if folder is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(folder / "server.crt", folder / "server.key")

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):  # the client has gone
                _forward(self.request, socket_path, context)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listener:
        listener.daemon_threads = True
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        yield listener.server_address[1]
        listener.shutdown()


def _forward(client, socket_path, context):
    request = client.recv(len(SSL_REQUEST), socket.MSG_WAITALL)
    while request == GSS_REQUEST or (request == SSL_REQUEST and context is None):
        client.sendall(b"N")
        request = client.recv(len(SSL_REQUEST), socket.MSG_WAITALL)
    if context is not None:
        if request != SSL_REQUEST:
            return
        client.sendall(b"S")
        client, request = context.wrap_socket(client, server_side=True), b""
    with client, socket.socket(socket.AF_UNIX) as server:
        server.connect(socket_path)
        server.sendall(request)
        while True:
            waiting = context is not None and client.pending()
            for source in [client] if waiting else select.select([client, server], [], [])[0]:
                chunk = source.recv(CHUNK)
                if not chunk:
                    return
                (server if source is client else client).sendall(chunk)
