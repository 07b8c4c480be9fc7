"""The chat page in a browser: it is written to, and read, as a person does it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import tilewright
from tilewright.serving import App

from .browser import Browser
from .serving import Gate, Running, decoder, wait_for

LAST = "document.querySelector('#log article:last-child p').textContent"
NOTE = "document.querySelector('#log article:last-child small').textContent"
ERROR = "document.querySelector('#error').textContent"
IS_IDLE = "!document.querySelector('#send').hidden"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with Browser() as made:
        yield made


@pytest.fixture
def browser(chromium: Browser) -> Browser:
    """The one browser; the tests, in any order, know nothing of each other."""
    chromium.forget()
    return chromium


def keep(browser: Browser, name: str) -> None:
    """A picture for whoever wants to see it."""
    folder = os.environ.get("TILEWRIGHT_TEST_PICTURES")
    if folder:
        (Path(folder) / f"{name}.png").write_bytes(browser.picture())


def say(browser: Browser, text: str) -> None:
    browser.type("#text", text)
    browser.press("Enter")


def test_a_conversation(browser: Browser, tmp_path: Path) -> None:
    with tilewright.init_backend("cpu") as be:
        model = decoder(be, tmp_path, context=200, cache_tokens=400)
        model.engine.ends = frozenset()
        with Running(App(model, names=("tiny", ""))) as running:
            browser.resize(1000, 700)
            browser.open(running.server.address)
            browser.wait("document.querySelector('#name').textContent === 'tiny'")
            assert browser.value("document.activeElement !== null && document.title") == "tiny"
            browser.value("document.querySelector('#temperature').value = '0'")
            browser.value("document.querySelector('#most').value = '12'")
            browser.value("document.querySelector('#system').value = 'w5'")
            say(browser, "w1 <b>w2</b>")
            browser.wait(f"{IS_IDLE} && {LAST} !== ''")
            messages = [{"role": "system", "content": "w5"},
                        {"role": "user", "content": "w1 <b>w2</b>"}]  # fmt: skip
            first = model.chat(messages, 12)
            assert browser.value(LAST) == first
            assert "12 tokens" in browser.value(NOTE)
            assert browser.value(NOTE).endswith(" tokens/s, cut at the most tokens")
            # What was typed is text, whatever it looks like.
            assert browser.value("document.querySelector('#log b')") is None
            assert browser.value("document.querySelector('#log article p').textContent") == (
                "w1 <b>w2</b>"
            )
            browser.type("#text", "w3")
            browser.click("#send")
            browser.wait(f"{IS_IDLE} && document.querySelectorAll('#log article').length === 4")
            messages += [{"role": "assistant", "content": first}, {"role": "user", "content": "w3"}]
            assert browser.value(LAST) == model.chat(messages, 12)
            keep(browser, "light")
            browser.click("#fresh")
            assert browser.value("document.querySelectorAll('#log article').length") == 0
            browser.value("document.querySelector('#system').value = ''")
            say(browser, "w3")
            browser.wait(f"{IS_IDLE} && {LAST} !== ''")
            assert browser.value(LAST) == model.chat([{"role": "user", "content": "w3"}], 12)
            browser.resize(360, 640, phone=True, dark=True)
            width = "document.documentElement.scrollWidth"
            assert browser.value(width) <= 360
            keep(browser, "phone-dark")
    assert browser.complaints == []


def test_stop(browser: Browser, tmp_path: Path) -> None:
    """The answer comes as it is made, and Stop ends it on both sides."""
    with tilewright.init_backend("cpu") as be:
        model = decoder(be, tmp_path, context=250, cache_tokens=400)
        model.engine.ends = frozenset()
        with Running(App(model)) as running, Gate(model.engine) as gate:
            browser.resize(800, 600)
            browser.open(running.server.address)
            say(browser, "w1")
            for count in range(1, 4):
                gate.let(1)
                browser.wait(f"{LAST}.split(' ').length === {count} && {LAST} !== ''")
            assert browser.value("document.querySelector('#send').hidden")
            browser.click("#stop")
            browser.wait(IS_IDLE)
            wait_for(lambda: not any(one.is_busy for one in running.server.tasks.values()))
            gate.let(1)
            wait_for(lambda: running.app.worker.open == 0)
            assert len(browser.value(LAST).split()) == 3
            assert running.app.worker.made <= 4
            assert browser.value(NOTE).endswith(", stopped")
            assert not model.engine.running
            keep(browser, "stopped")
    assert browser.complaints == []


def test_errors(browser: Browser, tmp_path: Path) -> None:
    be = tilewright.init_backend("cpu")
    model = decoder(be, tmp_path, context=60, cache_tokens=60)
    with Running(App(model, api_key="s3cr\u00e9t \u79d8")) as running:
        browser.open(running.server.address)
        browser.wait(f"{ERROR}.includes('asks for an API key')")
        say(browser, "w1")
        browser.wait(f"{ERROR}.includes('the key is missing or wrong')")
        # What was not answered can be sent again.
        assert browser.value("document.querySelector('#text').value") == "w1"
        browser.click("summary")
        browser.type("#key", "s3cr\u00e9t \u79d8")
        browser.press("Tab")
        browser.wait("document.querySelector('#name').textContent === 'model'")
        assert browser.value(ERROR) == ""
        browser.value("document.querySelector('#text').value = ''")
        say(browser, "w1 " * 100)
        browser.wait(f"{ERROR}.includes('messages has 103 tokens, expected 1 to 60')")
        keep(browser, "error")
        browser.value("document.querySelector('#text').value = ''")
        be.close()
        say(browser, "w1")
        browser.wait(f"{ERROR}.includes('failed: ')")
    say(browser, "")
    browser.wait(IS_IDLE)
    browser.press("Enter")
    browser.wait(f"{ERROR} !== '' && {IS_IDLE}")
    # A browser notes what was refused; the page itself does nothing that it may not.
    assert all(one.startswith("Failed to load resource") for one in browser.complaints)
