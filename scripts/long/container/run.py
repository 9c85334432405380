"""Runs `ep serve` as a container's only process, and writes summary.json beside this file: run.py EP

The image has the program, its shared libraries and the certificates of authorities, without which no HTTPS client can be
built; it has no shell and no /tmp. Each container has its own user, mount, process and network namespaces and a /data volume. Needs root, podman and runc; images and
containers stay in a temporary folder (storage driver vfs), so the machine's own are not touched.
"""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PORT = 8080
# Host id of the container's root in its user namespace.
MAPPED = 100_000
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
QUESTION = json.dumps({"question": "Tabs or spaces?", "options": ["Tabs", "Spaces"]})


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout.strip()


class Podman:
    """Podman with its files in a folder."""

    def __init__(self, folder):
        self.options = ["podman", "--root", f"{folder}/storage", "--runroot", f"{folder}/run", "--storage-driver", "vfs",
                        "--runtime", "runc", "--cgroup-manager", "cgroupfs", "--events-backend", "file"]

    def __call__(self, *arguments, **options):
        return output(*self.options, *arguments, **options)

    def build(self, folder, program):
        """Imports a root file system with the program and its shared libraries."""
        root = Path(folder, "rootfs")
        files = {program: "/ep", CERTIFICATES: CERTIFICATES}
        for line in output("ldd", program).splitlines():
            if found := re.search(r"(/\S+) \(0x", line):
                files[found[1]] = found[1]
        for source, target in files.items():
            to = Path(f"{root}{target}")
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, to)
        Path(root, "data").mkdir()
        archive = Path(folder, "rootfs.tar")
        output("tar", "--owner=0", "--group=0", "--numeric-owner", "-C", str(root), "-cf", str(archive), ".")
        self("import", "--change", 'ENTRYPOINT ["/ep"]', str(archive), "ep")
        return sorted(files.values())


class Container:
    """A container that serves, with a volume and a user."""

    def __init__(self, podman, name, volume, user):
        self.podman, self.name = podman, name
        files = min(1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        podman("run", "--detach", "--name", name, "--network", "none", "--user", f"{user}:{user}",
               "--uidmap", f"0:{MAPPED}:65536", "--gidmap", f"0:{MAPPED}:65536", "--cap-drop", "all",
               "--read-only", "--read-only-tmpfs=false", "--volume", f"{volume}:/data",
               "--ulimit", f"nofile={files}:{files}", "--ulimit", "nproc=1000:1000",
               "--env", "EP_DATA_DIR=/data", "--env", f"EP_LISTEN=0.0.0.0:{PORT}", "--env", "EP_LOG_FORMAT=json",
               "--env", "EP_DEMO_PACE=0", "ep", "serve")
        self.pid = int(podman("inspect", "--format", "{{.State.Pid}}", name))

    def get(self, path, *options):
        """The status and the body of a response, requested inside the network namespace of the container."""
        command = ["nsenter", "--target", str(self.pid), "--net", "curl", "-s", "-w", "\n%{http_code}", *options, f"http://127.0.0.1:{PORT}{path}"]
        done = subprocess.run(command, capture_output=True, text=True)
        body, _, status = done.stdout.rpartition("\n")
        return int(status or 0), body

    def wait_until_ready(self):
        for _ in range(150):
            if self.get("/readyz")[0] == 200:
                return
            if not Path(f"/proc/{self.pid}").exists():
                break
            time.sleep(0.2)
        raise SystemExit(f"{self.name} is not ready:\n{self.logs()}")

    def logs(self):
        done = subprocess.run([*self.podman.options, "logs", self.name], capture_output=True, text=True)
        return done.stdout + done.stderr

    def messages(self):
        lines = [line for line in self.logs().splitlines() if line.startswith("{")]
        return [json.loads(line)["fields"]["message"] for line in lines]

    def has_own_namespaces(self):
        kinds = ["user", "mnt", "pid", "net"]
        return all(os.readlink(f"/proc/{self.pid}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}") for kind in kinds)

    def status(self, field):
        """A field of the process's status; ids of processes end with the one in its innermost namespace."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return re.search(rf"^{field}:\s*(.*)$", text, re.M)[1].split()

    def writable_mounts(self):
        """Writable mounts other than those of the kernel, such as /proc and /dev."""
        mounts = Path(f"/proc/{self.pid}/mounts").read_text().splitlines()
        mounts = [line.split() for line in mounts]
        kernel = {"proc", "sysfs", "tmpfs", "devtmpfs", "devpts", "mqueue", "cgroup", "cgroup2"}
        return [where for _, where, kind, flags, *_ in mounts if kind not in kernel and "rw" in flags.split(",")]

    def stop(self):
        """Sends SIGTERM. Returns the exit code and the seconds until the process has ended, which podman learns later."""
        began = time.monotonic()
        self.podman("kill", "--signal", "TERM", self.name)
        while Path(f"/proc/{self.pid}").exists():
            assert time.monotonic() < began + 60, f"{self.name} does not end"
            time.sleep(0.05)
        seconds = round(time.monotonic() - began, 1)
        return int(self.podman("wait", self.name)), seconds


def lives(podman, volume, user):
    """Starts two containers in turn on one empty volume. Returns the checks with their outcomes."""
    os.chown(volume, MAPPED + user, MAPPED + user)
    checks = {}
    first = Container(podman, f"first-{user}", volume, user)
    first.wait_until_ready()
    checks["process 1 of its namespace"] = first.status("NSpid")[-1] == "1"
    checks["own user, mount, process and network namespaces"] = first.has_own_namespaces()
    checks["user id inside"] = int(first.status("Uid")[0]) - MAPPED == user
    checks["only /data is writable"] = first.writable_mounts() == ["/data"]
    key = Path(volume, "secret.key")
    checks["key file, readable by its owner only"] = key.stat().st_mode & 0o77 == 0
    written = key.read_bytes()
    checks["one log line about the new key"] = sum("created the secret key" in of for of in first.messages()) == 1
    status, body = first.get("/api/poll", "-H", "content-type: application/json", "-d", QUESTION)
    checks["a poll is served"] = status == 200
    poll = json.loads(body)["poll_id"]
    code, seconds = first.stop()
    checks["SIGTERM ends it with code 0"] = code == 0 and first.messages()[-1] == "stopped"

    second = Container(podman, f"second-{user}", volume, user)
    second.wait_until_ready()
    checks["the second start keeps the key"] = key.read_bytes() == written
    checks["no log line about a key"] = not any("secret key" in of for of in second.messages())
    checks["the second start shows the poll of the first"] = second.get(f"/api/results/{poll}")[0] == 200
    checks["SIGTERM ends the second with code 0"] = second.stop()[0] == 0
    return {"uid": user, "seconds_to_stop": seconds, "checks": checks}


def main(program):
    program = os.path.realpath(program)
    folder = tempfile.mkdtemp(prefix="ep-container-")
    podman = Podman(folder)
    try:
        files = podman.build(folder, program)
        runs = []
        for user in [0, 1000]:
            volume = Path(folder, f"data-{user}")
            volume.mkdir()
            runs.append(lives(podman, volume, user))
    finally:
        subprocess.run([*podman.options, "rm", "--all", "--force"], capture_output=True)
        subprocess.run([*podman.options, "rmi", "--all", "--force"], capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)
    summary = {
        **json.loads(output(Path(__file__).parent.with_name("summaries"), "stamp", "container")),
        "program": output(program, "--version"), "runtime": [output("podman", "--version"), output("runc", "--version").splitlines()[0]],
        "image": files, "runs": runs,
        "not_run": [
            "a published port: requests are sent inside the container's network namespace",
            "limits of memory and processors: the test machine mounts cgroups in hybrid mode, which crun refuses",
        ],
    }
    text = json.dumps(summary, indent=2, ensure_ascii=False)
    Path(__file__).with_name("summary.json").write_text(text + "\n")
    print(text)
    failed = [name for run in runs for name, passed in run["checks"].items() if not passed]
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


main(sys.argv[1])
