# SPDX-License-Identifier: MIT OR Apache-2.0
"""Downloads for live_receive.rs: both ends, and what came of them as one line of JSON.

downloads.py serve             answers requests `bytes offset` on port 8000; 0 bytes: without end
downloads.py beside NETNICE    rates: plain alone, low alone, and both at once, in Mb/s
downloads.py switch NETNICE     what `status` prints of a download before and after its cgroup gets another control
downloads.py container NETNICE MTU  rates through slirp4netns, plain and low
downloads.py release NETNICE   rate of a low-priority download beside a plain one, before and after `detach`
downloads.py status NETNICE     what `status` and `run` print about a low-priority download, governed one way and both
downloads.py closing NETNICE    how many of twenty downloads close their windows beside a plain one, and go on after it
downloads.py reopening NETNICE HOW  the same after `detach`, beside the plain one, or a SIGKILL for `guard` or `netnice`
downloads.py compare COUNT     COUNT downloads of random size, compared byte by byte
"""

import contextlib
import hashlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import utp

CONTENT = b"".join(hashlib.sha256(b"%d" % n).digest() for n in range(1 << 15))


def serve() -> None:
    server = socket.create_server(("::", 8000), family=socket.AF_INET6, dualstack_ipv6=True, backlog=256)
    while True:
        threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()


def answer(connection: socket.socket) -> None:
    try:
        with connection, connection.makefile("rb") as requests:
            for request in requests:
                size, offset = map(int, request.split())
                while size == 0:
                    connection.sendall(CONTENT)
                connection.sendall((2 * CONTENT)[offset : offset + size])
    except OSError:
        pass  # the other end has gone


def connect(variable: str = "NETNICE_FAR") -> socket.socket:
    connection = socket.create_connection((os.environ[variable], 8000))
    connection.settimeout(60)
    return connection


def rates(seconds: int) -> None:
    """One download; prints its rate in each second, in Mb/s."""
    connection = connect()
    connection.sendall(b"0 0\n")
    connection.settimeout(0.05)
    for _ in range(seconds):
        end = time.monotonic() + 1
        received = 0
        while (now := time.monotonic()) < end:
            with contextlib.suppress(TimeoutError):
                received += len(connection.recv(1 << 20))
        print(received * 8e-6 / (1 + now - end), flush=True)


def download(seconds: int, *before: str) -> subprocess.Popen:
    command = [*before, sys.executable, __file__, "rates", str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def mean(process: subprocess.Popen, skip: int) -> float:
    found = [float(line) for line in process.communicate()[0].split()][skip:]
    return sum(found) / len(found)


def beside(netnice: str) -> None:
    low = [netnice, "run", "--direction", "receive", "--"]
    printed = {"plain": mean(download(3), 1), "low": mean(download(5, *low), 2)}
    both = [download(8, *low), download(8)]
    printed["low_beside"], printed["plain_beside"] = [mean(process, 3) for process in both]
    print(json.dumps(printed))


def container(netnice: str, mtu: int) -> None:
    """In a network namespace whose network is a program, as a container without root has it."""
    inside = subprocess.Popen(["unshare", "--net", "sleep", "600"])
    ours = pathlib.Path("/proc/self/ns/net").readlink()
    while pathlib.Path(f"/proc/{inside.pid}/ns/net").readlink() == ours:
        time.sleep(0.01)
    is_ready, ready = os.pipe()
    command = ["slirp4netns", "--configure", f"--mtu={mtu}", f"--ready-fd={ready}", str(inside.pid), "tap0"]
    slirp = subprocess.Popen(command, pass_fds=[ready], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(ready)
    os.read(is_ready, 1)
    enter = ["nsenter", f"--target={inside.pid}", "--net"]
    low = [*enter, netnice, "run", "--direction", "receive", "--"]
    print(json.dumps({"plain": mean(download(4, *enter), 1), "low": mean(download(12, *low), 1)}))
    for process in (slirp, inside):
        process.kill()
        process.wait()


def release(netnice: str) -> None:
    cgroup = os.environ["CGROUP"]
    subprocess.run(
        [netnice, "attach", cgroup, "--direction", "receive", "--json"], check=True, stdout=subprocess.DEVNULL
    )
    enter = utp.within(cgroup)
    low, plain = download(16, *enter), download(16)
    time.sleep(7)
    subprocess.run([netnice, "detach", cgroup, "--json"], check=True, stdout=subprocess.DEVNULL)
    low = [float(line) for line in low.communicate()[0].split()]
    plain.communicate()
    print(json.dumps({"before": sum(low[3:7]) / 4, "after": sum(low[11:]) / len(low[11:])}))


def switch(netnice: str) -> None:
    cgroup = os.environ["CGROUP"]
    enter = utp.within(cgroup)
    found = []
    low = None
    for control in ("netnice", "tcplp", "hstcplp"):
        attach = [netnice, "attach", cgroup, "--direction", "receive", "--control", control, "--json"]
        subprocess.run(attach, check=True, stdout=subprocess.DEVNULL)
        low = low or download(120, *enter)
        time.sleep(3)
        all_connections = json.loads(subprocess.check_output([netnice, "status", "--json"]))["connections"]
        # Other tests have downloads at the same time.
        ours = [one for one in all_connections if one["pid"] == low.pid]
        found.append({name: ours[0][name] for name in ("receive_control", "receive_rate_bits_per_second")})
    low.terminate()
    low.communicate()
    subprocess.run([netnice, "detach", cgroup, "--json"], check=True, stdout=subprocess.DEVNULL)
    print(json.dumps(found))


def status(netnice: str) -> None:
    found = {}
    for way in ("receive", "both"):
        command = [netnice, "run", "--json", "--direction", way, "--", sys.executable, __file__, "rates", "120"]
        download = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        status = []
        while not status and download.poll() is None:
            time.sleep(1)
            all_connections = json.loads(subprocess.check_output([netnice, "status", "--json"]))["connections"]
            ours = [one for one in all_connections if one["peer"].endswith(":8000")]
            # On a busy machine nothing may arrive for half a second.
            status = [one for one in ours if one["receive_rate_bits_per_second"] > 1e5]
        table = subprocess.check_output([netnice, "status"], text=True)
        download.terminate()
        summary = json.loads(download.communicate()[1].splitlines()[-1])
        found[way] = {"status": status[:1], "table": table, "run": summary}
    print(json.dumps(found))


def twenty() -> None:
    """Twenty downloads; prints the bytes of each so far, every second."""
    connections = [connect() for _ in range(20)]
    received = [0] * len(connections)

    def read(number: int) -> None:
        connections[number].sendall(b"0 0\n")
        while more := len(connections[number].recv(1 << 20)):
            received[number] += more

    for number in range(len(connections)):
        threading.Thread(target=read, args=(number,), daemon=True).start()
    while True:
        time.sleep(1)
        print(json.dumps(received), flush=True)


def most_closed(netnice: str) -> int:
    """The largest number of windows closed at once, until ten are or a minute has passed."""
    closed = 0
    end = time.monotonic() + 60
    while closed < 10 and time.monotonic() < end:
        time.sleep(0.5)
        all_connections = json.loads(subprocess.check_output([netnice, "status", "--json"]))["connections"]
        windows = [one["receive_window_bytes"] for one in all_connections if one["peer"].endswith(":8000")]
        closed = max(closed, windows.count(0))
    return closed


def progress(low: subprocess.Popen) -> int:
    """How many of twenty downloads bring 100 kB within a minute."""
    first = json.loads(low.stdout.readline())
    progressed = 0
    end = time.monotonic() + 60
    while progressed < 20 and time.monotonic() < end:
        latest = json.loads(low.stdout.readline())
        progressed = sum(now > then + 100_000 for then, now in zip(first, latest, strict=True))
    return progressed


def closing(netnice: str) -> None:
    command = [netnice, "run", "--direction", "receive", "--", sys.executable, __file__, "twenty"]
    low = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for _ in range(6):
        low.stdout.readline()
    plain = download(120)
    closed = most_closed(netnice)
    plain.kill()
    plain.wait()
    progressed = progress(low)
    low.terminate()
    low.communicate()
    print(json.dumps({"closed": closed, "progressed": progressed}))


def guards(cgroup: str) -> list[int]:
    """Return the guards of `run` in this test's environment: other tests, and the link, have guards of their own."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            own = f"CGROUP={cgroup}".encode() in (process / "environ").read_bytes().split(b"\0")
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ")
            if own and words.startswith(b"nn-guard run "):
                found.append(int(process.name))
    return found


def reopening(netnice: str, how: str) -> None:
    cgroup = os.environ["CGROUP"]
    command = [netnice, "run", "--direction", "receive", "--"]
    if how == "netnice":
        # It stays beside the command.
        command[2:2] = ["--log", f"{os.environ['DIRECTORY']}/log"]
    if how == "detach":
        attach = [netnice, "attach", cgroup, "--direction", "receive", "--json"]
        subprocess.run(attach, check=True, stdout=subprocess.DEVNULL)
        command = utp.within(cgroup)
    low = subprocess.Popen([*command, sys.executable, __file__, "twenty"], stdout=subprocess.PIPE, text=True)
    for _ in range(6):
        low.stdout.readline()
    plain = download(120)
    closed = most_closed(netnice)
    killed = []
    if how == "detach":
        subprocess.run([netnice, "detach", cgroup, "--json"], check=True, stdout=subprocess.DEVNULL)
    else:
        killed = [low.pid] if how == "netnice" else guards(cgroup)
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        plain.kill()
    progressed = progress(low)
    # The downloads end as they print.
    low.stdout.close()
    low.wait()
    plain.kill()
    plain.wait()
    print(json.dumps({"closed": closed, "killed": len(killed), "progressed": progressed}))


def compare(count: int) -> None:
    left = list(range(count))
    wrong = []

    def work(worker: int) -> None:
        choose = random.Random(worker)
        connection = None
        while left:
            left.pop()
            if connection is None or choose.random() < 0.3:
                connection = connect(choose.choice(["NETNICE_FAR", "NETNICE_FAR6"]))
            size = int(2 ** choose.uniform(0, 18))
            offset = choose.randrange(len(CONTENT))
            connection.sendall(b"%d %d\n" % (size, offset))
            received = b""
            while len(received) < size:
                received += connection.recv(choose.choice([1000, 65536])) or b"-" * size
            if received != (2 * CONTENT)[offset : offset + size]:
                wrong.append((worker, size, offset))

    def watched(worker: int) -> None:
        try:
            work(worker)
        except (OSError, IndexError) as error:
            if not isinstance(error, IndexError):
                wrong.append((worker, repr(error)))

    workers = [threading.Thread(target=watched, args=(n,)) for n in range(20)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(json.dumps({"wrong": wrong, "left": len(left)}))


if __name__ == "__main__":
    name, *rest = sys.argv[1:]
    globals()[name](*(int(word) if word.isdigit() else word for word in rest))
