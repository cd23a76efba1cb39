"""Specs become typed values, or every problem at once with its file, line, field, value and remedy."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from inferform.errors import InputError, Problem
from inferform.load import LoadedSpec, annotate, load_all, load_spec, located
from inferform.load_yaml import MAX_BYTES
from specs import MINIMAL, with_model, write

OVERLAYS = (
    MINIMAL
    + """\
budget: {usd_per_month: 9000}
environments:
  dev:
    models: {llama-8b: {workload: {peak_rps: 1}}}
    budget: null
  prod:
    models:
      llama-8b:
        workload:
          input_tokens: {mean: 700, p95: 900}
          burst: 2
      second:
        source: Qwen/Qwen3-8B
        workload: {peak_rps: 1, input_tokens: {mean: 10}}
    protected: true
"""
)


def problems(folder: Path, text: str, environment: str | None = None) -> list[Problem]:
    """What is wrong with a spec; fails when nothing is."""
    with pytest.raises(InputError) as caught:
        load_spec(write(folder, text), environment)
    return list(caught.value.problems)


def only(folder: Path, text: str) -> Problem:
    """The one thing that is wrong with a spec."""
    found = problems(folder, text)
    assert 1 == len(found), [str(p) for p in found]
    return found[0]


def test_a_minimal_spec_loads_with_defaults(tmp_path: Path) -> None:
    """Name, cloud, one model, its workload and objectives are enough; the rest comes from the fields."""
    loaded = load_spec(write(tmp_path, MINIMAL))
    model = loaded.spec.models["llama-8b"]
    assert ("demo", "default", "default") == (loaded.spec.name, loaded.spec.tenant, loaded.environment)
    assert (1.0, 0.06) == (model.slo.ttft_p95, model.slo.tpot_p95)
    assert (1000, 900.0) == (model.workload.input_tokens.p95_tokens, loaded.spec.scaling.scale_in_delay)
    assert 100 * 2**30 == model.nodes.root_size


def test_every_problem_comes_at_once_in_document_order(tmp_path: Path) -> None:
    """Five unrelated mistakes give five problems, each with its line and field, top to bottom."""
    text = """\
name: Demo
cloud: {provider: gcp, region: us-east-1}
models:
  llama-8b:
    source: x
    max_model_len: lots
    workload:
      peak_rps: 0
      input_tokens: {mean: 10}
budgett: {usd_per_month: 1}
"""
    found = [(p.line, p.field) for p in problems(tmp_path, text)]
    expected = [(1, "name"), (2, "cloud.provider"), (6, "models.llama-8b.max_model_len"), (8, "models.llama-8b.workload.peak_rps"), (10, "budgett")]
    assert expected == found


def test_a_problem_reads_as_one_line_with_file_and_line(tmp_path: Path) -> None:
    """The text of a problem names file, line, field, value, legal values and the nearest right answer."""
    path = tmp_path / "spec.yaml"
    expected = f"{path}:12: models.llama-8b.engine: is not one of the legal values (found vlm); legal: vllm, tensorrt-llm, sglang; did you mean vllm?"
    assert expected == str(only(tmp_path, with_model("engine: vlm")))


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("model_len: 8192", "did you mean `max_model_len`?"),
        ("max_modle_len: 8192", "did you mean `max_model_len`?"),
        ("context_length: 8192", "did you mean `max_model_len`?"),
        ("gpu: H100", "that is `models.llama-8b.hardware.gpus`"),
        ("tensor_parallel_size: 4", "that is `models.llama-8b.parallelism.tp`"),
        ("replicas: 3", "that is `models.llama-8b.scaling.min`"),
        ("ttft_p95: 1s", "that is `models.llama-8b.slo.ttft_p95`"),
        ("region: us-east-1", "that is `cloud.region`"),
        ("dtype: fp8", "did you mean `quantization`?"),
    ],
)
def test_unknown_fields_name_the_nearest(tmp_path: Path, line: str, fix: str) -> None:
    """A slip, a name from another tool or a field in the wrong part is answered with where it belongs."""
    assert fix == only(tmp_path, with_model(line)).fix


def test_an_unknown_field_without_a_near_one_lists_the_fields(tmp_path: Path) -> None:
    """Where nothing is close the legal fields of that part are listed."""
    assert ("tp", "pp", "dp", "ep") == only(tmp_path, with_model("parallelism: {zz: 1}")).legal


@pytest.mark.parametrize(
    ("line", "message", "fix"),
    [
        ('max_model_len: "8192"', "wants a whole number", "write 8192 without quotes"),
        ("max_model_len: 8_192", "wants a whole number", "write 8192"),
        ("max_model_len: 0x2000", "wants a whole number", "write 8192"),
        ("max_model_len: 1e4", "wants a whole number", "write 10000"),
        ("max_model_len: 12:30:00", "wants a whole number", ""),
        ("max_model_len: 0777", "wants a whole number", ""),
        ("max_model_len: true", "wants a whole number", ""),
        ("max_model_len: .inf", "wants a whole number", ""),
        ("enforce_eager: on", "wants true or false", "write true"),
        ("enforce_eager: no", "wants true or false", "write false"),
        ("enforce_eager: 1", "wants true or false", ""),
        ("engine_version: 0.33", "wants text", 'put it in quotes: "0.33"'),
        ("source2: 1", "is not a field", "did you mean `source`?"),
        ("extra_args: --seed", "wants a list", "write [--seed]"),
        ("gpu_memory_utilization: 1e999", "wants a number", ""),
        ("lifecycle: {pre_stop: 15}", "wants a duration with a unit, such as 50ms, 1.2s, 15m or 2h", ""),
        ("lifecycle: {pre_stop: 1.5}", "wants a duration with a unit, such as 50ms, 1.2s, 15m or 2h", ""),
        ("shm: 16Ki", "must be at least 64Mi", ""),
        ("nodes: {root_size: 99Ti}", "must be at most 16384Gi", ""),
        ("lifecycle: {pre_stop: 2h}", "must be at most 3600s", ""),
        ("shm: 16", "wants a size with a unit, such as 500Gi, 64GB or 512Mi", ""),
    ],
)
def test_values_of_the_wrong_kind_are_not_guessed(tmp_path: Path, line: str, message: str, fix: str) -> None:
    """Quoted, hexadecimal, sexagesimal, octal, unit-less and YAML 1.1 values are refused with how to write them."""
    problem = only(tmp_path, with_model(line))
    assert (12, message, fix) == (problem.line, problem.message, problem.fix)


def test_numbers_that_yaml_1_1_would_turn_are_kept_as_text(tmp_path: Path) -> None:
    """`ends_at` stays text although YAML 1.1 reads a date, and 1e3 is the number 1000."""
    text = with_model(
        "capacity: {purchase: [{kind: capacity_block, reservation_id: cr-0123456789abcdef0, zone: use1-az4, max_nodes: 1, ends_at: 2026-12-24T11:30:00Z}]}"
    )
    model = load_spec(write(tmp_path, text.replace("peak_rps: 2", "peak_rps: 1e3"))).spec.models["llama-8b"]
    assert model.capacity is not None
    assert "2026-12-24T11:30:00Z" == model.capacity.purchase[0].ends_at  # type: ignore[union-attr]
    assert 1000.0 == model.workload.peak_rps


def test_a_choice_of_kinds_gives_one_problem(tmp_path: Path) -> None:
    """A field that takes a word or a mapping complains once, about the kind that was written."""
    assert "wants a mapping with prefill, decode, runtime or one of the legal words" == only(tmp_path, with_model("topology: split")).message
    assert ("auto", "aggregated") == only(tmp_path, with_model("topology: split")).legal
    assert "models.llama-8b.topology.decode" == only(tmp_path, with_model("topology: {prefill: 1}")).field
    assert ("true", "false", "auto") == only(tmp_path, with_model("nodes: {efa: maybe}")).legal
    assert "models.llama-8b.capacity.purchase[0].kind" == only(tmp_path, with_model("capacity: {purchase: [{kind: spott}]}")).field


def test_missing_fields_say_what_they_hold(tmp_path: Path) -> None:
    """A missing field is reported at the part that lacks it, with its description and an example."""
    problem = only(tmp_path, MINIMAL.replace(", region: us-east-1", ""))
    assert (2, "cloud.region", "is required", "region name, such as us-east-1") == (problem.line, problem.field, problem.message, problem.fix)


def test_duplicate_keys_are_refused(tmp_path: Path) -> None:
    """A key given twice is a problem with both lines, not the last one winning."""
    problem = only(tmp_path, with_model("max_num_seqs: 4\nmax_num_seqs: 8"))
    assert (13, "models.llama-8b.max_num_seqs", "keep one; the other is on line 12") == (problem.line, problem.field, problem.fix)


def test_environments_merge_by_key(tmp_path: Path) -> None:
    """Mappings merge, scalars replace, null removes, what is not named stays."""
    base, dev, prod = load_all(write(tmp_path, OVERLAYS))
    assert ["default", "dev", "prod"] == [base.environment, dev.environment, prod.environment]
    assert (2.0, 1.0, 2.0) == tuple(x.spec.models["llama-8b"].workload.peak_rps for x in (base, dev, prod))
    assert (500, 500, 700) == tuple(x.spec.models["llama-8b"].workload.input_tokens.mean for x in (base, dev, prod))
    assert dev.spec.budget is None
    assert (False, False, True) == (base.spec.protected, dev.spec.protected, prod.spec.protected)
    assert ["llama-8b", "second"] == sorted(prod.spec.models)
    assert {} == prod.spec.environments


def test_one_environment_does_not_change_with_another(tmp_path: Path) -> None:
    """Editing the prod overlay leaves the dev spec as it was."""
    before = load_spec(write(tmp_path, OVERLAYS), "dev").spec
    assert before == load_spec(write(tmp_path, OVERLAYS.replace("burst: 2", "burst: 3")), "dev").spec


def test_problems_of_an_overlay_stand_at_its_lines(tmp_path: Path) -> None:
    """A bad value in an overlay is reported there, as it is written there; a removed field at its null."""
    text = OVERLAYS.replace("burst: 2", "burst: 0").replace("budget: null", "cloud: {region: null}")
    with pytest.raises(InputError) as caught:
        load_all(write(tmp_path, text))
    lines = text.splitlines()
    expected = [
        (lines.index("    cloud: {region: null}") + 1, "environments.dev.cloud.region"),
        (lines.index("          burst: 0") + 1, "environments.prod.models.llama-8b.workload.burst"),
    ]
    assert expected == [(p.line, p.field) for p in caught.value.problems]


def test_the_same_problem_in_every_environment_is_told_once(tmp_path: Path) -> None:
    """A mistake in the document itself is not repeated for each environment."""
    with pytest.raises(InputError) as caught:
        load_all(write(tmp_path, OVERLAYS.replace("tpot_p95: 60ms", "tpot_p95: 60")))
    assert ["models.llama-8b.slo.tpot_p95"] == [p.field for p in caught.value.problems]


def test_what_identifies_a_deployment_cannot_differ(tmp_path: Path) -> None:
    """An overlay that sets name, apiVersion or environments is refused."""
    text = MINIMAL + "environments:\n  prod: {name: other, apiVersion: inferform/v1}\n"
    assert ["environments.prod.name", "environments.prod.apiVersion"] == [p.field for p in problems(tmp_path, text, "prod")]


def test_an_unknown_environment_names_the_nearest(tmp_path: Path) -> None:
    """`--env prd` is a mistake, not a new environment."""
    found = problems(tmp_path, OVERLAYS, "prd")
    assert [("prd", ("default", "dev", "prod"), "did you mean prod?")] == [(p.value, p.legal, p.fix) for p in found]


def test_environment_names_are_names(tmp_path: Path) -> None:
    """An environment's name goes into resource names, so it has their form."""
    assert "environments.Prod_1" == only(tmp_path, MINIMAL + "environments: {Prod_1: {}}\n").field


def test_anchors_and_merge_keys_are_followed(tmp_path: Path) -> None:
    """Shared blocks work: an alias repeats a value, << merges a mapping and local keys win."""
    text = MINIMAL.replace("workload:\n", "workload: &load\n") + "  second:\n    source: x\n    workload: {<<: *load, peak_rps: 9}\n"
    models = load_spec(write(tmp_path, text)).spec.models
    assert (2.0, 9.0) == (models["llama-8b"].workload.peak_rps, models["second"].workload.peak_rps)
    assert 500 == models["second"].workload.input_tokens.mean


def test_later_problems_get_their_lines(tmp_path: Path) -> None:
    """A problem that only names a field (from sizing) gets file and line, of the overlay where the value stands there."""
    loaded = load_spec(write(tmp_path, OVERLAYS), "prod")
    with pytest.raises(InputError) as caught, located(loaded):
        raise InputError(
            [Problem("too many", field="models.llama-8b.workload.burst"), Problem("unknown", field="models.llama-8b.hardware.gpus[0]"), Problem("x")]
        )
    burst, gpus, whole = caught.value.problems
    lines = OVERLAYS.splitlines()
    assert ("environments.prod.models.llama-8b.workload.burst", lines.index("          burst: 2") + 1) == (burst.field, burst.line)
    # hardware is not written, so the model's own line stands for it.
    assert (lines.index("  llama-8b:") + 1, loaded.file) == (gpus.line, gpus.file)
    assert (None, loaded.file) == (whole.line, whole.file)


def test_list_positions_are_understood_in_both_spellings(tmp_path: Path) -> None:
    """`purchase.0.kind` and `purchase[0].kind` point at the same line."""
    loaded: LoadedSpec = load_spec(write(tmp_path, MINIMAL + "capacity:\n  purchase:\n    - kind: on_demand\n    - kind: spot\n"))
    found = annotate([Problem("x", field="capacity.purchase.1.kind"), Problem("x", field="capacity.purchase[1].kind")], loaded)
    assert [("capacity.purchase[1].kind", 15)] * 2 == [(p.field, p.line) for p in found]


@pytest.mark.parametrize("source", ["./models/config.json", "models/config.json", "../models/config.json", "./models"])
def test_paths_in_a_spec_start_at_its_folder(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of a config.json is relative to the spec file, wherever the command runs; a catalogue name is left alone."""
    (tmp_path / "specs").mkdir()
    path = write(tmp_path / "specs", MINIMAL.replace("meta-llama/Llama-3.1-8B-Instruct", source))
    monkeypatch.chdir(tmp_path)
    for given in (path, path.relative_to(tmp_path)):
        assert str((tmp_path / "specs" / source).resolve()) == load_spec(given).spec.models["llama-8b"].source
    assert "meta-llama/Llama-3.1-8B-Instruct" == load_spec(write(tmp_path, MINIMAL)).spec.models["llama-8b"].source


def test_a_spec_can_be_read_back_from_its_own_dump(tmp_path: Path) -> None:
    """Seconds and bytes of a dumped spec are taken as such, so parts can be changed and validated again."""
    spec = load_spec(write(tmp_path, with_model("shm: 16Gi\nlifecycle: {pre_stop: 20s}"))).spec
    assert spec == type(spec).model_validate(spec.model_dump())
    assert spec == type(spec).model_validate_json(spec.model_dump_json())


def test_standard_input_is_a_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads the spec from standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MINIMAL.encode())))
    assert ("demo", "<stdin>") == ((loaded := load_spec("-")).spec.name, loaded.file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"# only a comment\n", "the file is empty"),
        (b"- a\n- b\n", "the top of a spec is a mapping of fields"),
        (b"just text", "the top of a spec is a mapping of fields"),
        (MINIMAL.encode("utf-16"), "this is not a text file in UTF-8 (UTF-16 or binary data)"),
        (b"\x7fELF\x00\x01", "this is not a text file in UTF-8 (UTF-16 or binary data)"),
        (b"name: \xff", "byte 6 is not UTF-8"),
        (b"name: a\x07", "control character U+0007"),
        (b"name: a" + b" " * MAX_BYTES, "the file is larger than 1 MiB"),
        (b"[" * 500, "nested deeper than 32 levels"),
        (b"{a: " * 5000, "nested deeper than 32 levels"),
        (b"a: *b", "the alias *b has no anchor &b before it"),
        (b"a: &a {b: *a}", "the alias *a stands inside its own anchor &a"),
    ],
)
def test_files_that_are_no_spec_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    """Empty, binary, oversized, cyclic and bottomless files get one clear first sentence."""
    path = tmp_path / "spec.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_spec(path)
    assert message == caught.value.problems[0].message


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    """UTF-8 with a byte order mark, as some editors write it, loads."""
    path = tmp_path / "spec.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + MINIMAL.replace("\n", "\r\n").encode())
    assert "demo" == load_spec(path).spec.name


def test_syntax_errors_have_line_and_remedy(tmp_path: Path) -> None:
    """A tab, an open quote and a second colon are told with line and what to do."""
    tab = only(tmp_path, "name: a\ncloud:\n\tregion: x\n")
    assert (3, "indent with spaces") == (tab.line, tab.fix)
    assert "close the quote or bracket" == only(tmp_path, "name: 'a\n").fix
    assert (1, "put the value in quotes, or start a new line") == ((p := only(tmp_path, "a: b: c\n")).line, p.fix)


def test_tags_keys_and_documents_beyond_plain_data_are_refused(tmp_path: Path) -> None:
    """Custom tags, keys that are no text and a second document are problems; nothing is constructed."""
    text = "name: !!python/object/apply:os.system [id]\n1: x\n? [a]\n: b\ncloud: !local {}\n---\nname: b\n"
    messages = [p.message for p in problems(tmp_path, text)]
    for expected in (
        "the tag !!python/object/apply:os.system is not accepted",
        "a key must be text, found `1`",
        "a key must be text, found a mapping or list",
        "the tag !local is not accepted",
        "a second document starts here",
    ):
        assert expected in messages


@pytest.mark.parametrize("name", ["missing.yaml", "folder", "nul\0byte.yaml"])
def test_paths_that_cannot_be_read_are_input_errors(tmp_path: Path, name: str) -> None:
    """A missing file, a folder and an impossible path are told as such."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError) as caught:
        load_spec(str(tmp_path / name))
    assert 1 == len(caught.value.problems)


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    """A slip in the file's name is answered with the file that is there."""
    write(tmp_path, MINIMAL, "contract.yaml")
    with pytest.raises(InputError) as caught:
        load_spec(tmp_path / "contrat.yaml")
    assert f"did you mean {tmp_path / 'contract.yaml'}?" == caught.value.problems[0].fix


def test_fc38_duplicate_models_are_refused(tmp_path: Path) -> None:
    """FC-38: two models (and so pools) of one name are a problem with both lines."""
    text = MINIMAL + MINIMAL.split("models:\n")[1]
    problem = only(tmp_path, text)
    assert ("models.llama-8b", "`llama-8b` is given twice") == (problem.field, problem.message)


def test_text_that_does_not_print_is_refused(tmp_path: Path) -> None:
    """Escapes that would steer a terminal or hide text are refused and shown by their code."""
    assert "holds a character that does not print (U+001B)" == only(tmp_path, with_model('extra_args: ["--x=\\e[31m"]')).message
    assert "holds a character that does not print (U+202E)" == only(tmp_path, with_model('extra_args: ["a\\u202eb"]')).message
    assert only(tmp_path, with_model('extra_args: ["\\ud800"]')).message
