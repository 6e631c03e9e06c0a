"""Security and operation of the chart's pods: the checks of kube-linter and of the restricted standard, as tests.

Neither kube-linter nor a policy engine can be had from the package registries; each check names what it stands for.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from deploy.chart.helm_chart import VALUES, Object, containers, of_kind, pods, template

each_mode = pytest.mark.parametrize("values", VALUES, ids=lambda path: path.name.removesuffix("-values.yaml"))
KNOWN_SECRETS = ("token", "password", "secret", "key")


def every_container(values: Path) -> list[tuple[str, Object, Object]]:
    """Workload and container names, the pod's spec, the container."""
    return [
        (f"{name}/{one['name']}", pod["spec"], one)
        for name, pod in pods(template(values).objects)
        for one in containers(pod)
    ]


def security(spec: Object, container: Object) -> Object:
    """What is in force: the container's own over the pod's."""
    return {**spec["securityContext"], **container["securityContext"]}


@each_mode
def test_pods_meet_the_restricted_standard(values: Path) -> None:
    for name, spec, container in every_container(values):
        own = security(spec, container)
        assert own["runAsNonRoot"] is True, name
        assert own["runAsUser"] > 0, name
        assert own["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert own["allowPrivilegeEscalation"] is False, name
        assert own["capabilities"] == {"drop": ["ALL"]}, name
        assert not own.get("privileged"), name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec), name
        assert not any("hostPath" in volume for volume in spec.get("volumes", [])), name
        assert not any("hostPort" in port for port in container.get("ports", [])), name


@each_mode
def test_the_root_file_system_is_read_only_and_what_is_written_is_a_volume(values: Path) -> None:
    for name, spec, container in every_container(values):
        assert security(spec, container)["readOnlyRootFilesystem"] is True, name
        volumes = {volume["name"] for volume in spec.get("volumes", [])}
        assert {mount["name"] for mount in container.get("volumeMounts", [])} <= volumes, name
        home = [entry["value"] for entry in container.get("env", []) if entry["name"] == "HOME"]
        paths = {mount["mountPath"] for mount in container.get("volumeMounts", [])}
        assert set(home) <= paths, name


@each_mode
def test_resources_are_set_and_only_engines_have_gpus(values: Path) -> None:
    for name, _, container in every_container(values):
        resources = container["resources"]
        assert {"cpu", "memory"} <= set(resources["requests"]), name
        assert "memory" in resources["limits"], name
        gpus = "nvidia.com/gpu" in resources["limits"]
        assert gpus == name.endswith("/engine"), name


@each_mode
def test_images_are_pinned(values: Path) -> None:
    for name, _, container in every_container(values):
        image = container["image"]
        tag = image.rpartition("/")[2].partition(":")[2]
        assert "@sha256:" in image or (tag and tag != "latest"), f"{name}: {image}"


@each_mode
def test_secrets_are_files_and_not_variables(values: Path) -> None:
    for name, _, container in every_container(values):
        entries = container.get("env", [])
        assert not [entry for entry in entries if "valueFrom" in entry], name
        assert not container.get("envFrom"), name
        names = [entry["name"] for entry in entries]
        assert len(names) == len(set(names)), name
        spoken = [entry for entry in entries if any(word in entry["name"].lower() for word in KNOWN_SECRETS)]
        assert all(entry["name"].endswith("_PATH") for entry in spoken), name


@each_mode
def test_probes_ask_ports_that_are_open(values: Path) -> None:
    for name, _, container in every_container(values):
        ports = {port["name"] for port in container["ports"]}
        probes = [
            container[kind] for kind in ("startupProbe", "livenessProbe", "readinessProbe") if kind in container
        ]
        assert len(probes) >= 2, name
        assert all(probe["httpGet"]["port"] in ports for probe in probes), name


@each_mode
def test_the_scrape_sidecar_never_takes_a_pod_out_of_service(values: Path) -> None:
    for name, _, container in every_container(values):
        assert ("readinessProbe" in container) == (not name.endswith("/specwatch")), name


@each_mode
def test_ports_of_a_pod_are_taken_once(values: Path) -> None:
    for name, pod in pods(template(values).objects):
        ports = [port for one in containers(pod) for port in one["ports"]]
        assert len({port["containerPort"] for port in ports}) == len(ports), name
        assert len({port["name"] for port in ports}) == len(ports), name
        assert all(len(port["name"]) <= 15 for port in ports), name


@each_mode
def test_selectors_find_their_pods_and_nobody_elses(values: Path) -> None:
    objects = template(values).objects
    workloads = of_kind(objects, "Deployment")
    for one in workloads:
        wanted = one["spec"]["selector"]["matchLabels"]
        found = [
            other["metadata"]["name"]
            for other in workloads
            if wanted.items() <= other["spec"]["template"]["metadata"]["labels"].items()
        ]
        assert found == [one["metadata"]["name"]]
        assert "app.kubernetes.io/version" not in wanted
        assert "helm.sh/chart" not in wanted


@each_mode
def test_services_and_policies_lead_to_pods_and_open_ports(values: Path) -> None:
    objects = template(values).objects
    templates = [pod for _, pod in pods(objects)]
    for one in of_kind(objects, "Service", "NetworkPolicy", "PodDisruptionBudget"):
        name = f"{one['kind']} {one['metadata']['name']}"
        wanted = _wanted(one)
        if wanted == {"app": "vllm-llama"}:  # somebody else's pods
            continue
        found = [pod for pod in templates if wanted.items() <= pod["metadata"]["labels"].items()]
        assert found, name
        for pod, port in product(found, _ports(one)):
            open_ports = [entry for container in containers(pod) for entry in container["ports"]]
            assert port in {value for entry in open_ports for value in entry.values()}, f"{name}: {port}"


def _wanted(one: Object) -> dict[str, str]:
    spec = one["spec"]
    if one["kind"] == "Service":
        return dict(spec["selector"])
    return dict(spec["podSelector" if one["kind"] == "NetworkPolicy" else "selector"]["matchLabels"])


def _ports(one: Object) -> list[Any]:
    if one["kind"] == "Service":
        return [port["targetPort"] for port in one["spec"]["ports"]]
    return [port["port"] for rule in one["spec"].get("ingress", []) for port in rule["ports"]]


@each_mode
def test_every_pod_has_a_policy_a_service_account_and_a_token_only_if_it_has_rights(values: Path) -> None:
    objects = template(values).objects
    accounts = {one["metadata"]["name"]: one for one in of_kind(objects, "ServiceAccount")}
    policies = [_wanted(one) for one in of_kind(objects, "NetworkPolicy")]
    bound = {one["subjects"][0]["name"] for one in of_kind(objects, "RoleBinding")}
    for name, pod in pods(objects):
        account = pod["spec"]["serviceAccountName"]
        assert accounts[account]["automountServiceAccountToken"] is False
        assert pod["spec"]["automountServiceAccountToken"] is (account in bound), name
        assert any(wanted.items() <= pod["metadata"]["labels"].items() for wanted in policies), name


@each_mode
def test_several_replicas_are_spread_and_may_be_moved_one_by_one(values: Path) -> None:
    objects = template(values).objects
    budgets = [_wanted(one) for one in of_kind(objects, "PodDisruptionBudget")]
    assert all(one["spec"]["maxUnavailable"] == 1 for one in of_kind(objects, "PodDisruptionBudget"))
    for one in of_kind(objects, "Deployment"):
        pod = one["spec"]["template"]
        if one["spec"].get("replicas", 2) > 1:
            assert "podAntiAffinity" in pod["spec"]["affinity"], one["metadata"]["name"]
            assert any(wanted.items() <= pod["metadata"]["labels"].items() for wanted in budgets)


@each_mode
def test_a_disk_with_one_writer_has_one(values: Path) -> None:
    objects = template(values).objects
    claims = {one["metadata"]["name"] for one in of_kind(objects, "PersistentVolumeClaim")}
    for one in of_kind(objects, "Deployment"):
        volumes = one["spec"]["template"]["spec"].get("volumes", [])
        used = {volume.get("persistentVolumeClaim", {}).get("claimName") for volume in volumes}
        if used & claims:
            assert one["spec"]["replicas"] == 1
            assert one["spec"]["strategy"] == {"type": "Recreate"}


@each_mode
def test_rights_name_their_objects(values: Path) -> None:
    for one in of_kind(template(values).objects, "Role"):
        for rule in one["rules"]:
            assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
            assert "secrets" not in rule["resources"]
            nameless = set(rule["verbs"]) <= {"create", "list"}
            assert nameless or rule.get("resourceNames"), rule


@each_mode
def test_sidecars_are_native_and_engines_stop_in_time(values: Path) -> None:
    for name, pod in pods(template(values).objects):
        spec = pod["spec"]
        assert all(one["restartPolicy"] == "Always" for one in spec.get("initContainers", []))
        engines = [one for one in spec["containers"] if one["name"] == "engine"]
        if engines:
            (timeout,) = [arg for arg in engines[0]["args"] if arg.startswith("--shutdown-timeout=")]
            assert spec["terminationGracePeriodSeconds"] > 15 + int(timeout.partition("=")[2]), name
            memory = [volume["emptyDir"] for volume in spec["volumes"] if volume["name"] == "shm"]
            assert memory[0]["medium"] == "Memory"
