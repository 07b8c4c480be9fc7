"""Pages of a cache: who holds them, which are kept, which go first."""

from __future__ import annotations

import random

from tilewright.models.decoders.prefixes import Pages, chain


def test_names_say_all_that_is_in_front() -> None:
    names = chain(range(48), 16)
    assert len(names) == len(set(names)) == 3
    assert chain(range(32), 16) == names[:2]
    assert chain(range(16, 32), 16, names[0]) == names[1:2]
    assert chain([*range(15), 99, *range(16, 32)], 16)[1] != names[1]


def test_the_one_that_rested_longest_goes_first() -> None:
    pages = Pages(6)
    first, second = chain(range(32), 16), chain(range(100, 116), 16)
    held, other = pages.take(2), pages.take(1)
    for page, name in zip([*held, *other], [*first, *second], strict=True):
        pages.name(page, name)
    pages.give(held)
    pages.give(other)
    assert (pages.available, pages.kept) == (6, 3)
    taken = pages.take(3)
    assert not {*taken} & {*held, *other}
    # The end of the chain that was given back first, then its beginning.
    assert pages.take(1) == held[1:]
    assert pages.find(first) == held[:1]
    assert pages.take(1) == other
    assert pages.find(second) == []
    assert pages.available == 0


def test_shared() -> None:
    pages = Pages(2)
    names = chain(range(16), 16)
    held = pages.take(1)
    pages.name(held[0], names[0])
    assert pages.find(names) == held
    pages.give(held)
    assert (pages.available, pages.kept) == (1, 0)
    pages.give(held)
    assert (pages.available, pages.kept) == (2, 1)
    pages.forget()
    assert (pages.available, pages.kept, pages.find(names)) == (2, 0, [])
    # A page that is held when all is forgotten goes back without a name.
    held = pages.take(1)
    pages.name(held[0], names[0])
    pages.forget()
    pages.give(held)
    assert (pages.available, pages.kept) == (2, 0)


def test_random_use() -> None:
    """Beside a model that says of each page what is in it: what is found is what was asked for."""
    drawn = random.Random(7)
    pages, inside, holders = Pages(12), {}, []
    count = 0
    for _ in range(4000):
        what = drawn.random()
        if what < 0.5:
            tokens = [drawn.randrange(2) for _ in range(drawn.randint(1, 4))]
            text = [token for token in tokens for _ in range(16)]
            names = chain(text, 16)
            found = pages.find(names)
            for i, page in enumerate(found):
                assert inside[page] == tokens[: i + 1]
            count += len(found)
            if pages.available < len(tokens) - len(found):
                pages.give(found)
                continue
            fresh = pages.take(len(tokens) - len(found))
            held = [*found, *fresh]
            assert len(set(held)) == len(held)
            for i in range(len(found), len(held)):
                inside[held[i]] = tokens[: i + 1]
                if drawn.random() < 0.8:
                    pages.name(held[i], names[i])
            for other in holders:
                assert not {*fresh} & {*other}
            holders.append(held)
        elif holders:
            pages.give(holders.pop(drawn.randrange(len(holders))))
        if what > 0.995:
            pages.forget()
        assert pages.available == 12 - len({page for held in holders for page in held})
    assert count > 500
    for held in holders:
        pages.give(held)
    assert pages.available == 12
