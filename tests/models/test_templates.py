"""Chat templates: what they make, and that none goes on for ever or takes all memory."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tilewright.models import ModelError
from tilewright.models.decoders import templates
from tilewright.models.decoders.chat import MOST_SOURCE, Chat

MESSAGES = [
    {"role": "system", "content": " Be brief. "},
    {"role": "user", "content": "What is 2 + 2?\nSay <b>it</b>."},
    {"role": "assistant", "content": "4 \u00e9 \U0001f600"},
    {"role": "user", "content": "Why?"},
]
# What those of models do, each in a few lines.
WORKING = {
    "turns": "{{ bos_token }}{% for m in messages %}<|{{ m['role'] }}|>\n{{ m.content | trim }}"
    "{{ eos_token }}\n{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}",
    "system apart": "{% if messages[0]['role'] == 'system' %}{% set first = messages[0]['content'] "
    "| trim ~ '\\n\\n' %}{% set loop_messages = messages[1:] %}{% else %}{% set first = '' %}"
    "{% set loop_messages = messages %}{% endif %}{% for m in loop_messages %}{% if (m['role'] == "
    "'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('turns') }}{% endif %}[{{ loop.index }}"
    "{{ ', last' if loop.last }}]{{ (first if loop.first else '') + m['content'] }}{% endfor %}",
    "namespace": "{%- set ns = namespace(last=-1, text='', all=[]) -%}{%- for m in messages[::-1] "
    "-%}{%- if ns.last < 0 and m.role == 'user' -%}{%- set ns.last = loop.index0 -%}{%- endif -%}"
    "{%- set ns.text = m.role ~ ns.text -%}{%- set ns.all = ns.all + [m.role] -%}{%- endfor -%}"
    "{{ ns.last }} {{ ns.text }} {{ ns.all }} {{ ns.all | join(', ') }}",
    "macros": "{% macro turn(role, text='') %}<{{ role }}>{{ text }}{{ caller() if caller }}"
    "</{{ role }}>{% endmacro %}{% for m in messages %}{{ turn(m.role, text=m.content) }}"
    "{% endfor %}{% call turn('end') %}x{% endcall %}",
    "filters": "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | "
    "list | length }}{{ messages | map(attribute='role') | unique | join('+') }}"
    "{{ messages | tojson }}{{ messages[1] | tojson(indent=2) }}{{ [3, 1, 2] | sort | first }}"
    "{{ none | default('x', true) }}{{ messages[1].content | replace('2', 'two') | upper | "
    "indent(4) }}{{ {'b': 1, 'a': 2} | dictsort }}{{ 'a,b' .split(',') | last }}{{ 3.7 | int }}",
    "blocks": "{% set text %}{% for m in messages %}{{ m.role }}{% if loop.index == 2 %}{% break %}"
    "{% endif %}{% endfor %}{% endset %}{{ text * 2 }}{% filter upper %}{{ text }}{% endfilter %}",
    "strings": "{{ '%s is %d' % ('a', 3) }}{{ '{} {x}'.format(1, x=2) }}{{ 'a-b'.replace('-', '')"
    " }}{{ ' x '.strip() }}{{ 'abc'[::-1] }}{{ 'a' in 'abc' }}{{ '</x>' in messages[2].content }}"
    "{{ 'x'.join(messages | map(attribute='role')) }}{{ 'ab'.startswith('a') }}{{ 2 ** 3 * 2 }}",
    "tests": "{% for x in [1, 'a', none, [], {}, true] %}{{ x is string }}{{ x is mapping }}"
    "{{ x is iterable }}{{ x is defined }}{{ x is none }};{% endfor %}{{ tools is not defined }}",
    "recursive": "{% for x in [[1, [2]], [3]] recursive %}{{ loop(x) if x is sequence else x }}"
    "{{ loop.depth }}{% endfor %}{{ cycler('a', 'b').next() }}{{ range(3) | list }}",
}


def plain(source: str) -> str:
    """By Jinja's sandbox alone."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value, indent=None: json.dumps(
        value, ensure_ascii=False, indent=indent
    )
    values: dict[str, Any] = {"bos_token": "<s>", "eos_token": "</s>"}
    return environment.from_string(source).render(
        messages=MESSAGES, add_generation_prompt=True, tools=None, documents=None, **values
    )


@pytest.mark.parametrize("name", WORKING)
def test_what_they_make(name: str) -> None:
    found = Chat("a file", WORKING[name], "<s>", "</s>").text("chat", MESSAGES)
    assert found == plain(WORKING[name])
    assert len(found) > 5


# What transformers 5.24 gives of MESSAGES, with "<pad>" and "<unk>" as tokens besides.
AS_TRANSFORMERS = {
    "{% if tools is not none %}TOOLS{% endif %}{{ documents is none }}{{ messages | length }}":
        "True4",
    "{{ pad_token }}|{{ unk_token }}|{{ mask_token is defined }}|{{ bos_token }}":
        "<pad>|<unk>|False|<s>",
    "{% set a = 1 %}{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}"
    "{% set a = 2 %}{{ m.content }}{% endgeneration %}{% else %}[{{ m.role }}]{% endif %}"
    "{% endfor %}{{ a }}": "[system][user]4 \u00e9 \U0001f600[user]1",
    "{{ messages[2].content | tojson(ensure_ascii=False) }}": '"4 \u00e9 \U0001f600"',
    "{{ messages[2].content | tojson(true) }}": '"4 \\u00e9 \\ud83d\\ude00"',
    "{{ {'b': '<', 'a': 2} | tojson(sort_keys=true) }}": '{"a": 2, "b": "<"}',
    "{{ [3, {'a': 1}] | tojson(separators=(',', ':')) }}": '[3,{"a":1}]',
    "{{ [3] | tojson(indent=2) }}": "[\n  3\n]",
}  # fmt: skip


@pytest.mark.parametrize("source", AS_TRANSFORMERS)
def test_as_transformers(source: str) -> None:
    others = {"pad_token": "<pad>", "unk_token": "<unk>", "mask_token": None}
    chat = Chat("a file", source, "<s>", "</s>", others)
    assert chat.text("chat", MESSAGES) == AS_TRANSFORMERS[source]


def test_long_conversations() -> None:
    """One of a megabyte, in a thousand turns."""
    turns = [{"role": "user", "content": "word " * 200}] * 1000
    text = Chat("a file", WORKING["turns"], "<s>", "</s>").text("chat", turns)
    assert len(text) > 10**6
    text = Chat("a file", WORKING["macros"], "<s>", "</s>").text("chat", turns)
    assert len(text) > 10**6


GROW = "{% set ns = namespace(x='abcdefgh') %}{% for i in range(60) %}"
LISTS = "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}"
HARMFUL = {
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "joining": GROW + "{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}",
    "adding": GROW + "{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}",
    "blocks": GROW + "{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}{% endfor %}{{ ns.x }}",
    "lists": LISTS + "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
    "dicts": LISTS + "{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}{{ ns.x | tojson }}",
    "tuples": LISTS + "{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ ns.x == ns.x }}",
    "namespaces": LISTS + "{% set ns.x = namespace(a=ns.x, b=ns.x) %}{% endfor %}{{ ns.x }}",
    "repeats": "{{ 'a' * 10**10 }}",
    "repeats of lists": "{{ [1] * 10000000000 }}",
    "powers": "{{ 9 ** (9 ** 9) }}",
    "products": LISTS + "{% set ns.x = (i + 9) ** 99 * (ns.x if loop.index > 1 else 1) %}"
    "{% endfor %}",
    "widths": "{{ '%1000000000d' % 1 }}",
    "widths elsewhere": "{{ '%*d' % (1000000000, 1) }}",
    "widths of filters": "{{ '%1000000000d' | format(1) }}",
    "widths of formats": "{{ '{:>1000000000}'.format(1) }}",
    "nested widths": "{{ '{:>{}}'.format(1, 1000000000) }}",
    "center": "{{ 'a' | center(1000000000) }}",
    "ljust": "{{ 'a'.ljust(1000000000) }}",
    "tabs": "{{ '\t'.expandtabs(1000000000) }}",
    "indent": "{{ messages | tojson(indent=1000000000) }}",
    "separators": "{% set a = 'a' * 16000000 %}{{ range(99) | list | tojson(separators=(a, a)) }}",
    "replacing": "{% set a = 'a' * 100000 %}{{ a | replace('a', a) }}",
    "joins": "{% set a = 'a' * 1000000 %}{{ a.join(range(99999) | map('string')) }}",
    "defaults": "{% set a = 'a' * 1000000 %}{{ range(99999) | map(attribute='x', default=a) | join"
    " }}",
    "rounds": "{{ 1.5 | round(1000000000, 'ceil') }}",
    "batches": "{{ [1] | batch(1000000000, 'x') | list }}",
    "words": "{{ lipsum(n=100000) }}",
    "calls": "{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}",
    "calls of calls": "{% macro m(x) %}{{ x }}{{ x }}{% endmacro %}{{ "
    + "m(" * 40 + "'abcdefgh'" + ")" * 40 + " }}",
    "depth": "{% for i in [1] %}" * 30 + "{% endfor %}" * 30,
    "brackets": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "output": "{% for i in range(90000) %}{{ messages[1].content * 100 }}{% endfor %}",
    "variables": "".join(f"{{% set a{i} = 'a' * 16000000 + '{i}' %}}" for i in range(30)),
    "length": "a" * (MOST_SOURCE + 1),
    "escape": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "changes": "{{ messages.append(1) }}",
    "its own words": "{{ raise_exception('only turns') }}",
    "numbers": "{{ 1 / 0 }}",
    "grammar": "{% for %}",
}  # fmt: skip


@pytest.mark.parametrize("name", HARMFUL)
def test_harmful_ones(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "MOST_LINES", 200_000)
    monkeypatch.setattr(templates, "MOST_ITEMS", 1 << 13)
    chat = Chat("model.gguf", HARMFUL[name], "<s>", None)
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=r"model\.gguf: its chat template fails: ."):
            chat.text("chat", MESSAGES)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 400_000_000


def test_the_bounds_are_those_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a conversation took is not counted in the next."""
    monkeypatch.setattr(templates, "MOST_LINES", 2000)
    monkeypatch.setattr(templates, "MOST_MADE", 4000)
    chat = Chat("a file", WORKING["turns"], "<s>", "</s>")
    first = chat.text("chat", MESSAGES)
    assert all(chat.text("chat", MESSAGES) == first for _ in range(20))
    with pytest.raises(ModelError, match=r"it goes on after 2000 lines|it makes more than 4000"):
        chat.text("chat", MESSAGES * 100)
