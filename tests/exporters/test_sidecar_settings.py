from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.sidecar import setting_values
from specwatch_exporters.sidecar.engine_address import EngineAddress
from specwatch_exporters.sidecar.options import OPTIONS
from specwatch_exporters.sidecar.setting_values import Listen
from specwatch_exporters.sidecar.settings import SettingsError, SidecarSettings, load

ENGINE = "vllm:8000"


def settings(flags: dict[str, str | bool | None] | None = None, **environ: str) -> SidecarSettings:
    return load({"engine": ENGINE, **(flags or {})}, environ)


def complaint(flags: dict[str, str | bool | None], **environ: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(flags, environ)
    message = str(caught.value)
    assert message.isprintable(), "one line"
    assert "; accepted: " in message
    return message


# The engine's address.


@pytest.mark.parametrize(
    ("given_text", "kind", "metrics_url", "base_url"),
    [
        ("vllm:8000", None, "http://vllm:8000/metrics", "http://vllm:8000"),
        ("127.0.0.1:8000/", None, "http://127.0.0.1:8000/metrics", "http://127.0.0.1:8000"),
        ("[::1]:8000", None, "http://[::1]:8000/metrics", "http://[::1]:8000"),
        ("http://vllm", None, "http://vllm/metrics", "http://vllm"),
        ("HTTPS://vllm.example.com/", None, "https://vllm.example.com/metrics", "https://vllm.example.com"),
        ("http://vllm:8000/v1", None, "http://vllm:8000/metrics", "http://vllm:8000"),
        ("http://vllm:8000/v1/", None, "http://vllm:8000/metrics", "http://vllm:8000"),
        ("http://gw/pods/3", None, "http://gw/pods/3/metrics", "http://gw/pods/3"),
        ("http://gw/pods/3/metrics", None, "http://gw/pods/3/metrics", "http://gw/pods/3"),
        ("http://vllm:8000/metrics/", None, "http://vllm:8000/metrics/", "http://vllm:8000"),
        ("vllm:8000/metrics", None, "http://vllm:8000/metrics", "http://vllm:8000"),
        ("http://ray:8080/v2/ray_metrics", None, "http://ray:8080/v2/ray_metrics", "http://ray:8080"),
        ("http://vllm/metrics?x=1&y=/", None, "http://vllm/metrics?x=1&y=/", "http://vllm"),
        ("trt:8000", "trtllm", "http://trt:8000/prometheus/metrics", "http://trt:8000"),
        ("http://trt:8000/prometheus/metrics", None, "http://trt:8000/prometheus/metrics", "http://trt:8000"),
        ("http://trt:8000/metrics", "trtllm", "http://trt:8000/metrics", "http://trt:8000"),
        ("http://u:p%40@vllm:1/", None, "http://u:p%40@vllm:1/metrics", "http://u:p%40@vllm:1"),
        ("u:p@vllm:1", None, "http://u:p@vllm:1/metrics", "http://u:p@vllm:1"),
    ],
)
def test_whatever_address_a_person_may_paste(
    given_text: str, kind: str | None, metrics_url: str, base_url: str
) -> None:
    address = EngineAddress.parse(given_text, kind)
    assert (address.metrics_url, address.base_url) == (metrics_url, base_url)
    assert "@" not in address.display
    assert "?" not in address.display


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vllm", "no port"),
        ("vllm:", "no port"),
        ("vllm:http", "no port"),
        ("/metrics", "a path, not an address"),
        ("::1:8000", "brackets"),
        ("ftp://vllm:8000", "scheme is 'ftp'"),
        ("http://:8000", "no host"),
        ("http://vllm:99999", "port is not a number"),
        ("http://vllm:8000/#x", "#fragment"),
        ("http://vllm:8000/?x=1", "?query"),
        ("http://vllm:80 00/", "space"),
        ("http://user:s3cret@vllm:eight/", "port is not a number"),
        ("user:s3cret@vllm", "no port"),
    ],
)
def test_an_address_that_makes_no_sense(text: str, said: str) -> None:
    message = complaint({"engine": text})
    assert message.startswith("--engine '")
    assert said in message
    assert "accepted: host:port" in message
    assert "s3cret" not in message


@given(st.text(max_size=40))
def test_any_text_is_an_address_or_one_clear_line(text: str) -> None:
    try:
        found = load({"engine": text}, {}).engine
    except SettingsError as error:
        message = str(error)
    else:
        message = found.display
        assert found == EngineAddress.parse(found.metrics_url)
    assert message.isprintable()


def test_the_engine_is_required() -> None:
    assert complaint({}).startswith("--engine (or SPECWATCH_ENGINE) is missing; accepted: host:port")


def test_credentials_are_not_in_the_repr() -> None:
    assert "s3cret" not in repr(load({"engine": "http://u:s3cret@vllm:1"}, {}))


# Flags, environment, defaults.


def test_defaults() -> None:
    found = settings()
    assert found.listen == Listen("", 9477)
    assert (found.interval_s, found.timeout_s, found.stale_after_s) == (5.0, 5.0, 15.0)
    assert (found.engine_kind, found.speculation_method, found.num_speculative_tokens, found.model) == (None,) * 4
    assert (found.max_models, found.insecure, found.log_level) == (100, False, "info")


@pytest.mark.parametrize(
    ("interval", "timeout_s", "stale_after_s"),
    [("100ms", 0.1, 15.0), ("5s", 5.0, 15.0), ("6s", 6.0, 18.0), ("30s", 10.0, 90.0), ("10m", 10.0, 1800.0)],
)
def test_times_that_follow_from_the_interval(interval: str, timeout_s: float, stale_after_s: float) -> None:
    found = settings({"interval": interval})
    assert [found.timeout_s, found.stale_after_s] == pytest.approx([timeout_s, stale_after_s])


def test_everything_given(tmp_path: Path) -> None:
    token, ca, profile, state = (tmp_path / name for name in ("token", "ca.pem", "profile.json", "state.json"))
    for file in (token, ca, profile):
        file.touch()
    values = {
        "engine": "http://vllm:8000",
        "engine_kind": "vllm",
        "listen": "127.0.0.1:0",
        "interval": "2s",
        "timeout": "1500ms",
        "stale_after": "1m",
        "speculation_method": "EAGLE3",
        "num_speculative_tokens": "3",
        "model": "meta/llama é",
        "max_models": "7",
        "bearer_token_file": str(token),
        "ca_file": str(ca),
        "insecure": "no",
        "drift": "off",
        "drift_profile": str(profile),
        "drift_state": str(state),
        "payoff_profile": "llama-70b-fp8-h200",
        "request_metrics": "http://127.0.0.1:9478/metrics",
        "log_level": "DEBUG",
    }
    expected = SidecarSettings(
        engine=EngineAddress.parse("vllm:8000"),
        engine_kind="vllm",
        listen=Listen("127.0.0.1", 0),
        interval_s=2.0,
        timeout_s=1.5,
        stale_after_s=60.0,
        speculation_method="eagle3",
        num_speculative_tokens=3,
        model="meta/llama é",
        max_models=7,
        bearer_token_file=token,
        ca_file=ca,
        insecure=False,
        drift=False,
        drift_profile=profile,
        drift_state=state,
        payoff_profile="llama-70b-fp8-h200",
        request_metrics="http://127.0.0.1:9478/metrics",
        log_level="debug",
    )
    assert set(values) == {option.field for option in OPTIONS}
    assert load(dict(values), {}) == expected
    assert load({}, {f"SPECWATCH_{field.upper()}": value for field, value in values.items()}) == expected


def test_a_flag_wins_over_its_variable() -> None:
    found = settings({"interval": "3s", "max_models": None}, SPECWATCH_INTERVAL="2s", SPECWATCH_MAX_MODELS="9")
    assert (found.interval_s, found.max_models) == (3.0, 9)


@pytest.mark.parametrize("empty", ["", "  ", "\n"])
def test_an_empty_variable_is_not_set(empty: str) -> None:
    assert settings(SPECWATCH_INTERVAL=empty, SPECWATCH_INSECURE=empty) == settings()


def test_a_switch_is_on_off_or_not_given() -> None:
    assert settings({"insecure": True}).insecure
    assert not settings({"insecure": False}).insecure
    assert settings(SPECWATCH_INSECURE="Yes").insecure
    assert settings({"insecure": False}, SPECWATCH_INSECURE="1").insecure
    assert not settings({"insecure": "false"}, SPECWATCH_INSECURE="true").insecure


def test_what_kubernetes_sets_beside_a_service_called_specwatch_is_left_alone() -> None:
    injected = {
        "SPECWATCH_PORT": "tcp://10.0.0.1:9477",
        "SPECWATCH_SERVICE_HOST": "10.0.0.1",
        "SPECWATCH_SERVICE_PORT": "9477",
        "SPECWATCH_PORT_9477_TCP_ADDR": "10.0.0.1",
        "SPECWATCH_ENGINE_SERVICE_HOST": "10.0.0.1",
    }
    assert settings(None, **injected) == settings()
    assert not [option for option in OPTIONS if re.search(r"_(PORT|HOST)(_|$)|_SERVICE_", option.variable)]


# Mistakes.


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--interval", "5", "no unit (write 5s?)"),
        ("--interval", "5x", "not a duration"),
        ("--interval", "s", "not a duration"),
        ("--interval", "5s1m", "not a duration"),
        ("--interval", "-5s", "not a duration"),
        ("--interval", "50ms", "0.05s is out of range"),
        ("--interval", "0s", "0s is out of range"),
        ("--interval", "1h", "3600s is out of range"),
        ("--interval", "", "it is empty"),
        ("--timeout", "6s", "6s does not fit the interval of 5s"),
        ("--timeout", "0s", "0s does not fit"),
        ("--stale-after", "9s", "9s does not fit the interval of 5s"),
        ("--listen", "9477x", "no port from 0 to 65535"),
        ("--listen", ":99999", "no port from 0 to 65535"),
        ("--listen", "::1:9477", "brackets"),
        ("--listen", "[localhost]:1", "only an IPv6 address"),
        ("--listen", "http://x:1", "brackets"),
        ("--listen", "a/b:1", "not an address"),
        (
            "--engine-kind",
            "tgi",
            "not one of the choices; accepted: dynamo-frontend, sglang, trtllm, vllm",
        ),
        ("--speculation-method", "eagle 3", "not one word"),
        ("--num-speculative-tokens", "0", "out of range; accepted: a whole number from 1 to 128"),
        ("--num-speculative-tokens", "3.5", "not a whole number"),
        ("--num-speculative-tokens", "²", "not a whole number"),
        ("--max-models", "99999", "out of range"),
        ("--model", "a\nb", "do not print"),
        ("--model", "x" * 300, "it is 300 characters long"),
        ("--bearer-token-file", "no/such/file", "cannot be read (No such file"),
        ("--ca-file", "/", "cannot be read (Is a directory"),
        ("--insecure", "maybe", "neither true nor false"),
        ("--drift-state", "no/such/folder/x", "its directory does not exist"),
        ("--drift-state", "/", "it is a directory"),
        ("--drift-profile", "no/such/file", "cannot be read"),
        ("--request-metrics", "ftp://a:1", "its scheme is"),
        ("--log-level", "loud", "not one of the choices"),
    ],
)
def test_a_mistake_is_named_with_what_is_accepted(flag: str, value: str, said: str) -> None:
    field = flag.removeprefix("--").replace("-", "_")
    message = complaint({"engine": ENGINE, field: value})
    assert message.startswith(flag)
    assert said in message
    if value:  # an empty variable is not set
        variable = f"SPECWATCH_{field.upper()}"
        assert complaint({"engine": ENGINE}, **{variable: value}) == message.replace(flag, variable, 1)


def test_pairs_of_which_one_would_silently_win(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    off = complaint({"engine": ENGINE, "num_speculative_tokens": "3"}, SPECWATCH_SPECULATION_METHOD="off")
    assert off == "--num-speculative-tokens: SPECWATCH_SPECULATION_METHOD is off; accepted: one of the two"
    trust = complaint({"engine": ENGINE, "insecure": True, "ca_file": str(file)})
    assert trust.startswith("--insecure: --ca-file would not be used")
    token = complaint({"engine": "http://u:s3cret@vllm:1", "bearer_token_file": str(file)})
    assert token.startswith("--bearer-token-file: --engine carries credentials as well")


# Values.


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("5s", 5), ("2.5s", 2.5), ("1m", 60), ("1m30s", 90), ("1h2m3s4ms", 3723.004)],
)
def test_durations(text: str, seconds: float) -> None:
    assert setting_values.duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "expected", "shown"),
    [
        (":9477", Listen("", 9477), ":9477"),
        ("9477", Listen("", 9477), ":9477"),
        ("127.0.0.1:0", Listen("127.0.0.1", 0), "127.0.0.1:0"),
        ("[::]:9477", Listen("::", 9477), "[::]:9477"),
        ("localhost:1", Listen("localhost", 1), "localhost:1"),
    ],
)
def test_listen_addresses(text: str, expected: Listen, shown: str) -> None:
    assert setting_values.listen(text) == expected
    assert str(expected) == shown


# One table.


def test_every_setting_is_an_option_and_the_other_way_round() -> None:
    fields = {field.name.removesuffix("_s") for field in dataclasses.fields(SidecarSettings)}
    assert fields == {option.field for option in OPTIONS}


def test_every_option_says_what_it_does_and_takes() -> None:
    for option in OPTIONS:
        assert option.flag.startswith("--")
        assert option.help.endswith(".")
        assert option.accepted
        assert option.default_text or option.flag == "--engine"


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.flag)
def test_defaults_are_accepted(option: object) -> None:
    found = next(known for known in OPTIONS if known is option)
    if found.default is not None:
        assert found.parse(found.default) is not None
