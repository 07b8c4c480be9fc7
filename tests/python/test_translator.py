"""What the translator of WGSL kernels refuses, and which kernels it leaves to OpenCL C."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from translation import KERNELS, ROOT, opencl_of, taken
from wgsl_to_opencl import Symbol, TranslationError, Value

HEAD = """@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
"""
FIRST = HEAD.count("\n") + 1
N = Symbol("N", (), "N")
OP = Symbol("OP", ("add", "mul"), "OP")


def kernel(body: str, around: str = "") -> str:
    return HEAD + body + "\n}\n" + around


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y[0] = 1u;", "what is assigned is u32 where f32 is expected"),
        ("y[0] = x[0] + 1u;", "f32 + u32"),
        ("y[0] = x[0] + missing;", "missing is not declared"),
        ("y[0] = erf(x[0]);", "the translator knows no function erf"),
        ("y[0] = exp(1.0h);", "exp of f16, which the translator does not have"),
        ("y[0] = f32(arrayLength(&x));", "arrayLength: no OpenCL C kernel knows it"),
        ("let v: mat2x2<f32> = x[0];", "the translator knows no type mat2x2"),
        ("let v = vec3<f32>(1.0, 2.0);", "vec3<f32> of a number, a number"),
        ("let v = vec2<f32>(); y[0] = v.z;", "vec2<f32> has no z"),
        ("x[0] = 1.0;", "x cannot be assigned to"),
        ("let v = 1.0; v = 2.0;", "v cannot be assigned to"),
        ("var v = vec2<f32>(); v.xy = v.yx;", ".xy is assigned to at once"),
        ("var a: array<f32, 2>; var b = a;", "b copies an array"),
        ("let v = 1; let v = 2;", "v is declared twice"),
        ("if (x[0]) { }", "the condition is f32 where bool is expected"),
        ("continue;", "continue outside of a loop"),
        ("loop { continue; continuing { y[0] = 1.0; } }", "continue in a loop with continuing"),
        ("let v = select(1.0, 2u, true);", "an argument of select is a number where u32"),
        ("y[0] = fma(x[0], 2.0);", "fma takes 3 arguments"),
        ("y[0] = x[1.5];", "an index is f32"),
        ("let v = 1 +;", "expected an expression and not ;"),
        ("let v = 1 }", "expected ; and not }"),
        ("let v = `1`;", "cannot read '`'"),
        ("return 1.0;", "main returns nothing"),
        ("let v = 1 << 2.0;", "what it is shifted by is a number where u32 is expected"),
        ("let v = (1 < 2) + 1;", "bool + a whole number"),
        ("loop { break if true; }", "break if: only at the end of continuing"),
    ],
)
def test_what_is_refused_in_a_kernel(body: str, message: str) -> None:
    with pytest.raises(TranslationError, match=rf"^test\.wgsl:{FIRST}: {re.escape(message)}"):
        opencl_of(kernel(body))


@pytest.mark.parametrize(
    ("around", "message"),
    [
        ("override scale = 1.0;", "an override: make it a variable of the template"),
        ("var<uniform> v: f32;", "the address space uniform; there is workgroup, private,"),
        ("struct V { v: vec3<f32> } var<immediate> v: V;", "v holds a vec3, which OpenCL C keeps"),
        ("struct V { v: bool } var<immediate> v: V;", "v holds a bool"),
        ("struct V { n: u32, v: array<f32> } @group(0) @binding(2) var<storage> v: V;",
         "v has an array without a length beside others"),
        ("struct V { @align(16) n: u32 }", "@align of a member"),
        ("fn f(a: array<f32, 2>) { }", "a is array<f32, 2>: OpenCL C hands no arrays over"),
        ("fn f() -> array<f32, 2> { return array<f32, 2>(); }", "f returns array<f32, 2>"),
        ("fn f() { } fn f() { }", "f is declared twice"),
        ("@compute @workgroup_size(1) fn other() { }", "expected one kernel; there is main, other"),
        ("var<workgroup> v: array<f32>;", "v has no length"),
        ("fn f(a: texture_2d) { }", "the translator knows no type texture_2d"),
    ],
)  # fmt: skip
def test_what_is_refused_around_a_kernel(around: str, message: str) -> None:
    with pytest.raises(TranslationError, match=r"^test\.wgsl:\d+: ") as refused:
        opencl_of(kernel("", around))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("#if N\nvar v = 1.0;\n#else\nvar v = 1u;\n#end", "3: v is u32 here and f32 before"),
        ("y[0] = x[0]\n#if N\n + 1.0\n#end\n;", "1: expected ; and not if N"),
        ("let v${N} = 1.0;", "0: N, which only a launch knows, is part of a name"),
        ("#for k in 0..N\nlet v${k} = 1.0;\n#end", "1: each_k, which only a launch knows"),
        ('#if N\n#let A = "a"\n#else\n#let A = "b"\n#end\n', "0: A becomes another text by N"),
        (
            "#let A = 0\n#for k in 0..N\n#let A = k\n#end\n",
            "1: #let of a name from before in a loop up to what only a launch knows",
        ),
        ("#for k in 0..N\n#let A = k\n#end\ny[0] = ${A};", "3: no variable is named A"),
        ("var a: array<f32, ${N}>;", "0: the length of an array must be known when kernels are"),
        ('#if OP == "div"\n#end', '0: "div" is no word of the constant in OP == "div"'),
        ("#if M\n#end", "0: no variable is named M"),
        ("#if 1\n", "0: #if has no #end"),
        ("#elsewhere", "0: #elsewhere is no directive"),
        ("#let A 1", "0: expected #let NAME = EXPR"),
        ("y[0] = ${1 / 0};", "0: division by zero in 1 / 0"),
        ("y[0] = ${1 +};", "0: cannot read the expression 1 +"),
    ],
)
def test_what_is_refused_in_a_template(body: str, message: str) -> None:
    line, _, what = message.partition(": ")
    place = f"test.wgsl:{FIRST + int(line)}: "
    with pytest.raises(TranslationError) as refused:
        opencl_of(kernel(body), {"N": N, "OP": OP})
    assert str(refused.value).startswith(place + what)


def test_an_error_in_a_file_that_is_included() -> None:
    with pytest.raises(TranslationError, match=r"^inner\.wgsl:2: missing is not declared"):
        opencl_of(
            '#include "inner.wgsl"\n' + kernel("y[0] = f();"),
            inner="// f\nfn f() -> f32 { return missing; }\n",
        )


def test_files_that_include_each_other() -> None:
    with pytest.raises(TranslationError, match=r"^inner\.wgsl:1: #include goes round"):
        opencl_of('#include "inner.wgsl"\n', inner='#include "inner.wgsl"\n')


@pytest.mark.parametrize(
    ("body", "spelled"),
    [
        ("y[0] = ${2 + 3 * N};", "y[0u] = (float)(2 + (3 * N));"),
        ('#if OP == "mul"\ny[0] = 1.0;\n#end', "if (OP == OP_mul) {"),
        ("#if N == 1 || (N) == 2\ny[0] = 1.0;\n#end", "if ((N == 1) || (N == 2)) {"),
        ("#for k in 2..N\n#let A = k * 2\ny[${A}] = 1.0;\n#end", "y[(each_k * 2)] = 1.0f;"),
        ("#for k in 2..N\ny[${k}] = 1.0;\n#end", "for (int each_k = 2; each_k < N; ++each_k) {"),
        ("#if N && 0\ny[0] = missing;\n#end", "}"),
        ("let a = (x[0] + 1.0) + (x[1] + 2.0);", "x[0] + 1.0f + (x[1] + 2.0f);"),
        ("let a = (id.x & 3u) == 2u;", "(id.x & 3u) == 2u;"),
        ("let a = x[0] - (x[1] - x[2]);", "x[0] - (x[1] - x[2]);"),
        ("let a = - -x[0];", "- -x[0];"),
    ],
)
def test_how_it_is_spelled(body: str, spelled: str) -> None:
    text = opencl_of(kernel(body), {"N": N, "OP": OP})
    assert spelled.replace("y[0u]", "y[0]") in text


def test_what_no_kernel_uses_is_left_out() -> None:
    text = opencl_of(kernel("y[0] = f();", "fn f() -> f32 { return 1.0; } fn g() { }"))
    assert re.findall(r"static inline \w+ (\w+)", text) == ["f"]


def test_names_that_headers_have() -> None:
    assert {"convert", "FOUR", "local_barrier", "uint", "exp", "wgsl_clamp"} <= taken()


# Which kernels are written twice ------------------------------------------------------------------


def twins() -> dict[str, str]:
    """The kernels that have a file of OpenCL C beside that of WGSL, and why."""
    found = {}
    for path in sorted((KERNELS / "opencl").glob("*.cl")):
        text = path.read_text()
        if "//! library:" not in text:
            reason = re.search(r"^//! twin: (.+)$", text, re.MULTILINE)
            found[path.stem] = reason[1] if reason else ""
    return found


def test_a_second_file_says_why() -> None:
    assert [name for name, reason in twins().items() if not reason] == []


def test_a_second_file_is_one_of_a_kernel_in_wgsl() -> None:
    assert [name for name in twins() if not (KERNELS / "wgsl" / f"{name}.wgsl").exists()] == []


def test_the_list_of_kernels_that_are_written_twice() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.split("| kernel | why it is written twice |")[1].split("\n\n")[0]
    listed = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|$", table, re.MULTILINE))
    assert listed == twins()


def test_each_kernel_is_translated_or_written_twice() -> None:
    wgsl = {path.stem: path.read_text() for path in (KERNELS / "wgsl").glob("*.wgsl")}
    parts = set(re.findall(r'#include "(\w+)\.wgsl"', "".join(wgsl.values())))
    shipped = wgsl.keys() - parts - {"program_functions"}  # what programs are made of
    translated = {name for name, text in wgsl.items() if re.search(r"^//! ", text, re.M)}
    assert translated & twins().keys() == set()
    # One is made for one length at a time, as kernels that are compiled beforehand cannot be; in
    # the place of others Level Zero has attention_general, conv2d_forward and its gradients, and
    # norms and softmax by rows. Of matrix units it has products of matrices.
    lacking = {"fft_convolved", "copy_fours", "conv2d_fold", "attention_many", "attention_matrix"}
    lacking |= {"quantized_matrix", "gemm_bytes_pack", "gemm_largest", "gemm_split"}
    lacking |= {"quantized_digits", "softmax_short"}
    templates = ("conv2d_spots", "conv2d_matrix", "matrix_units")
    lacking |= {name for name in wgsl.keys() - parts if name.startswith(templates)}
    lacking |= {f"{op}_{part}" for op in ("norm", "softmax") for part in ("pieces", "scaled")}
    assert translated | twins().keys() | lacking == shipped


def test_a_value_of_a_template() -> None:
    variables: dict[str, Value] = {"N": 3, "OP": "add"}
    text = opencl_of(
        kernel('#if OP == "add" && N % 2 == 1\ny[${N - 1}] = ${-N}.0;\n#end'), variables
    )
    assert "y[2] = -3.0f;" in text
