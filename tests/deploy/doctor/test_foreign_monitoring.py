"""Rules, dashboards and scalers that have nothing to do with models, after public ones: nothing is said of them."""

from __future__ import annotations

import pytest
import yaml

from deploy.doctor.doctor_run import alert, ask, codes, panel
from deploy.doctor.scaler_objects import Json, scaled, text
from specwatch_deploy.doctor.finding import Severity

# After the mixins of node-exporter and Kubernetes, and rules of databases and GPUs.
RULES = (
    'node_textfile_scrape_error{job="node-exporter"} == 1',
    'ALERTS{severity = "info"} == 1 unless on (namespace) ALERTS{severity =~ "warning|critical"} == 1',
    "rate(redis_keyspace_hits_total[5m]) / rate(redis_keyspace_misses_total[5m]) < 0.8",
    "increase(DCGM_FI_DEV_XID_ERRORS[1m]) > 0",
    "rate(node_vmstat_pgmajfault[30s]) > 500",
    "(pg_stat_database_numbackends / pg_settings_max_connections) * 100 > 80",
    "count(nginx_ingress_controller_config_last_reload_successful == 0) or vector(0)",
)
WATCHDOG = """groups:
- name: general.rules
  rules:
  - alert: Watchdog
    expr: vector(1)
    labels: {severity: none}
  - record: instance:node_memory_utilisation:ratio
    expr: 1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes
"""


@pytest.mark.parametrize("expression", RULES)
def test_habits_of_other_rules_are_left_alone(expression: str) -> None:
    said = ask(files=alert(expression, wait="")) + ask(files=panel(expression))
    assert codes(said, Severity.INFO) == []


def test_the_same_is_told_where_an_engine_is_meant() -> None:
    assert codes(ask(files=alert("vllm:num_requests_waiting > 10", wait=""))) == ["alert-without-for"]
    assert codes(ask(files=alert('up{job="vllm"} == 0', wait=""))) == ["alert-without-for"]
    assert codes(ask(files=alert("up == 0", wait="", title="SGLangDown"))) == ["alert-without-for"]
    recorded = yaml.safe_load(WATCHDOG)
    rules = recorded["groups"][0]["rules"]
    rules[1] |= {"record": "job:waiting:sum", "expr": "sum(vllm:num_requests_waiting)"}
    rules.append({"alert": "Queue", "expr": "job:waiting:sum > 5"})
    assert codes(ask(files={"rules.yml": yaml.safe_dump(recorded)})) == ["alert-without-for"]


def test_a_heartbeat_is_meant_to_fire() -> None:
    assert codes(ask(files={"rules.yml": WATCHDOG}), Severity.INFO) == []
    assert codes(ask(files=alert("vector(1)", wait="", title="DeadMansSwitch")), Severity.INFO) == []
    assert codes(ask(files=alert("vector(1)", wait="10s", title="AlwaysFiringTest")), Severity.INFO) == []
    assert codes(ask(files=alert("vector(1)", title="QueueTooLong"))) == ["alert-always-fires"]


def foreign(**metadata: str) -> Json:
    """A scaler of a web service, with KEDA's defaults."""
    body = scaled(metadata={"query": "sum(game_matches_in_queue)", "ignoreNullValues": "true", **metadata})
    body["metadata"] = {"name": "game-server", "namespace": "gaming"}
    body["spec"] |= {"scaleTargetRef": {"name": "game-server"}, "fallback": {"failureThreshold": 3, "replicas": 1}}
    return body


def deployment(name: str, image: str, **spec: object) -> Json:
    """A workload with a fixed number of replicas."""
    container = {"name": "server", "image": image}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "gaming"},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [container]}}, **spec},
    }


def test_a_scaler_of_something_else_may_have_kedas_defaults() -> None:
    other = deployment("game-server", "registry.example.com/game:1")
    assert codes(ask(files={"s.yaml": text(foreign(), other)}), Severity.INFO) == []


def test_the_workload_tells_what_is_served() -> None:
    """The scaler reads a gateway's series; that a model server is behind it stands in the Deployment."""
    engine = deployment("game-server", "vllm/vllm-openai:v0.33.0")
    said = codes(ask(files={"s.yaml": text(foreign(), engine)}))
    assert said == ["scaler-fixed-replicas", "scaler-null-is-zero"]


def test_what_kubernetes_refuses_is_told_of_every_scaler() -> None:
    assert codes(ask(files={"s.yaml": text(foreign(threshold="many"))})) == ["scaler-trigger-invalid"]


INHIBITION = """route: {receiver: ops}
receivers: [{name: ops}]
inhibit_rules:
- source_matchers: ['alertname="GlobalKillSwitch"']
  target_matchers: ['alertname=~"QueueBacklog|JobFailures"']
"""


def test_an_inhibition_between_named_alerts_of_others_may_reach_everything() -> None:
    assert codes(ask(files={"am.yml": INHIBITION})) == []
    of_engines = INHIBITION.replace("GlobalKillSwitch", "VLLMDown").replace("QueueBacklog", "VLLMQueueBacklog")
    assert codes(ask(files={"am.yml": of_engines})) == ["alertmanager-inhibits-all"]
