"""host.py READYFILE PORT: what a step must not reach on this machine, where 127.0.0.2:PORT is what it may: answers at the next port and address, at the
loopback addresses of both families, by UDP, and at an abstract Unix socket. Makes READYFILE when all of it listens."""
import pathlib
import socket
import sys
import threading

port = int(sys.argv[2])
tcp = [
    (socket.AF_INET, ("127.0.0.2", port + 1)),
    (socket.AF_INET, ("127.0.0.3", port)),
    (socket.AF_INET, ("127.0.0.1", port)),
    (socket.AF_INET6, ("::1", port)),
    (socket.AF_UNIX, "\0sbx-test-host"),
]


def echo(udp):
    while True:
        data, peer = udp.recvfrom(64)
        udp.sendto(data, peer)


held = []
for family, address in tcp:
    s = socket.socket(family, socket.SOCK_STREAM)
    s.bind(address)
    s.listen(16)
    held.append(s)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.2", port))
pathlib.Path(sys.argv[1]).touch()
threading.Thread(target=echo, args=(udp,)).start()
