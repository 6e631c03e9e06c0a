"""nginx as Debian builds it: one worker, no buffering of replies, connections to the upstream kept."""

from __future__ import annotations

import getpass
import os
import subprocess

from bench_proxy.child import Launch
from bench_proxy.contender import Contender, Place, UnavailableError
from tools.debian_packages import DebianPackages
from tools.fetch_tools import FETCH_ERRORS, only_one, provide, wanted
from tools.tool_paths import REPOSITORY, TOOLS_FOLDER, find_tool
from tools.tool_sources import Workshop

_CONFIGURATION = """\
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  keepalive_requests 1000000;
  upstream engine {{
    server 127.0.0.1:{stub_port};
    keepalive 512;
    keepalive_requests 1000000;
  }}
  server {{
    listen 127.0.0.1:{port} backlog=1024;
    location / {{
      proxy_pass http://engine;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }}
  }}
}}
"""


def prepare() -> str:
    """Fetch it without root where the machine has none; return its version."""
    debian = DebianPackages(REPOSITORY / ".cache" / "apt")
    workshop = Workshop(debian, REPOSITORY / "requirements" / "tools.txt", TOOLS_FOLDER)
    try:
        with only_one(TOOLS_FOLDER / "lock"):
            provide(wanted(["nginx"])[0], workshop)
        said = subprocess.run([find_tool("nginx"), "-v"], capture_output=True, text=True, check=True).stderr
    except (*FETCH_ERRORS, subprocess.SubprocessError) as error:
        raise UnavailableError(str(error)) from error
    return said.strip().rpartition("/")[2]


def launch(place: Place) -> Launch:
    """Write the configuration; a worker of root stays root, because the folder is its only place to write."""
    user = f"user {getpass.getuser()};" if os.geteuid() == 0 else ""
    configuration = place.folder / "nginx.conf"
    values = {"user": user, "folder": place.folder, "stub_port": place.stub_port, "port": place.port}
    configuration.write_text(_CONFIGURATION.format(**values))
    return Launch([str(find_tool("nginx")), "-p", str(place.folder), "-e", "stderr", "-c", str(configuration)])


NGINX = Contender("nginx", prepare, launch)
