"""Calls one after another, and at the same time, held against a model in host memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import tilewright as tw

from .call import Array, Fault
from .draw import Draw

MOST_BUFFERS = 12
MOST_ELEMENTS = 30_000
MOST_READS = 10


class Player:
    """Buffers of float32 on a device, and what they must hold. Its ops round nothing, or as NumPy
    does, so that they are compared bit by bit."""

    def __init__(self, be: tw.Backend, limit: int | None = None, alone: bool = True) -> None:
        self.be = be
        self.model: dict[int, Array] = {}
        self.gone: list[int] = []
        self.limit = limit
        #: whether the numbers of memory_stats() are those of this model
        self.alone = alone
        self.base = be.memory_stats() if alone else None
        self.profiling = False
        self.done = 0
        #: those under way: what they fill, and with what
        self.reads: list[tuple[tw.Event, Array, Array]] = []

    def step(self, draw: Draw) -> None:
        if not self.model or (len(self.model) < MOST_BUFFERS and draw.rarely(4)):
            action = Player.alloc
        else:
            action = draw.one_of(ACTIONS)
        draw.says(f"{action.__name__} in a sequence on {self.be!r}")
        action(self, draw)
        self.done += 1
        if self.alone:
            self.check_stats()

    def finish(self) -> None:
        if self.profiling:
            self.end_profile()
        self.finish_reads(True)
        for handle in list(self.model):
            self.read(handle)
            self.be.free(handle)
        self.model.clear()
        if self.alone:
            self.check_stats()

    def check_stats(self) -> None:
        stats = self.be.memory_stats()
        assert self.base is not None
        live = sum(array.nbytes for array in self.model.values())
        counted = stats.active_bytes - self.base.active_bytes
        if counted != live or stats.allocations - self.base.allocations != len(self.model):
            raise Fault(f"memory_stats() counts {counted} bytes for {live}: {stats}")
        if self.limit is not None and stats.active_bytes + stats.cached_bytes > self.limit:
            raise Fault(
                f"memory_limit is {self.limit}, but {stats.active_bytes} bytes are active "
                f"and {stats.cached_bytes} cached"
            )

    # What is done ---------------------------------------------------------------------------------

    def pick(self, draw: Draw) -> int:
        return draw.one_of(sorted(self.model))

    def attempt(self, call: Callable[[], Any]) -> bool:
        """Whether there was memory for it."""
        try:
            call()
        except tw.OutOfMemory:
            if self.limit is None:
                raise
            return False
        return True

    def alloc(self, draw: Draw) -> None:
        n = draw.size(MOST_ELEMENTS)
        made: list[int] = []
        if not self.attempt(lambda: made.append(self.be.alloc(4 * n))):
            live = sum(array.nbytes for array in self.model.values())
            if self.limit is not None and live + 4 * n + (len(self.model) + 1) * 4096 <= self.limit:
                raise Fault(f"no memory for {4 * n} bytes beside {live} of {self.limit}")
            return
        values = draw.integers(n, "float32")
        self.be.copy_htod(made[0], values)
        if made[0] in self.model or made[0] in self.gone:
            raise Fault(f"the handle {made[0]} is used again")
        self.model[made[0]] = values.copy()

    def free(self, draw: Draw) -> None:
        handle = self.pick(draw)
        self.be.free(handle)
        del self.model[handle]
        self.gone.append(handle)

    def upload(self, draw: Draw) -> None:
        handle = self.pick(draw)
        whole = self.model[handle]
        at = draw.integer(0, whole.size)
        values = draw.integers(draw.integer(0, whole.size - at), "float32")
        self.be.copy_htod(handle, values, 4 * at)
        whole[at : at + values.size] = values

    def download(self, draw: Draw) -> None:
        self.read(self.pick(draw))

    def read(self, handle: int) -> None:
        expected = self.model[handle]
        got = np.empty_like(expected)
        self.be.copy_dtoh(got, handle)
        if not np.array_equal(got, expected):
            at = int(np.flatnonzero(got != expected)[0])
            raise Fault(f"a buffer of {got.size} holds {got[at]} at {at}, expected {expected[at]}")

    def read_async(self, draw: Draw) -> None:
        """A part of a buffer, which shows what it holds now whatever comes next."""
        handle = self.pick(draw)
        whole = self.model[handle]
        at = draw.integer(0, whole.size)
        expected = whole[at : at + draw.integer(0, whole.size - at)].copy()
        got = np.full_like(expected, np.nan)
        event = self.be.copy_dtoh_async(got, handle, 4 * at)
        self.reads.append((event, got, expected))
        if len(self.reads) > MOST_READS:
            self.finish_reads(draw.below(2) == 0)

    def finish_reads(self, by_the_last: bool) -> None:
        """Waits for each, or for the last alone: the others are done with it, unless it is of
        nothing, which waits for nothing."""
        reads, self.reads = self.reads, []
        by_the_last = by_the_last and bool(reads) and reads[-1][2].size > 0
        if by_the_last:
            reads[-1][0].wait()
        for event, got, expected in reads:
            if not (event.done() if by_the_last else event.wait()):
                raise Fault("a read is not done although a later one is")
            if not np.array_equal(got, expected):
                raise Fault(f"a read of {got.size} numbers holds others than when it was queued")

    def event(self, draw: Draw) -> None:
        event = self.be.event()
        how = draw.below(4)
        if how == 0:
            self.be.flush()
        elif how == 1:
            event.wait()
            if not event.done():
                raise Fault("an event is not done after its wait")
        elif how == 2:
            event.wait(draw.one_of([0, 1e-6, 1e-3]))
        else:
            event.done()

    def copy(self, draw: Draw) -> None:
        target, source = self.pick(draw), self.pick(draw)
        n = min(self.model[target].size, self.model[source].size)
        if target == source:
            n //= 2
        n = draw.integer(0, n)
        self.be.copy_dtod(target, source, 4 * n, 0, 4 * (self.model[source].size - n))
        self.model[target][:n] = self.model[source][self.model[source].size - n :].copy()

    def unary(self, draw: Draw) -> None:
        name, numpy = draw.one_of([("relu", relu), ("abs", np.abs), ("neg", np.negative)])
        source, target = self.pick(draw), self.pick(draw)
        n = draw.integer(0, min(self.model[source].size, self.model[target].size))
        if self.attempt(lambda: self.be.unary(name, source, target, n)):
            self.model[target][:n] = numpy(self.model[source][:n])

    def binary(self, draw: Draw) -> None:
        name, numpy = draw.one_of(
            [("add", np.add), ("sub", np.subtract), ("max", np.maximum), ("mul", np.multiply)]
        )
        a, b, target = self.pick(draw), self.pick(draw), self.pick(draw)
        n = draw.integer(0, min(self.model[one].size for one in (a, b, target)))
        # Far from where numbers end, also after many steps.
        if n and max(np.abs(self.model[one][:n]).max() for one in (a, b)) > 1e6:
            return
        if self.attempt(lambda: self.be.binary(name, a, b, target, n)):
            self.model[target][:n] = numpy(self.model[a][:n], self.model[b][:n])

    def reduce(self, draw: Draw) -> None:
        source, target = self.pick(draw), self.pick(draw)
        rows = self.model[target].size
        cols = self.model[source].size // rows
        if source == target or cols == 0:
            return
        shape = [rows, cols]
        if self.attempt(lambda: self.be.reduce("max", source, target, shape, 1)):
            values = self.model[source][: rows * cols].reshape(rows, cols)
            self.model[target][:rows] = values.max(1)

    def product(self, draw: Draw) -> None:
        """By a matrix of zeros but for a one in each row."""
        a, c = self.pick(draw), self.pick(draw)
        m = draw.integer(1, min(40, self.model[a].size, self.model[c].size))
        k = min(self.model[a].size // m, self.model[c].size // m, 100)
        if a == c or k == 0:
            return
        made: list[int] = []
        if not self.attempt(lambda: made.append(self.be.alloc(4 * k * k))):
            return
        self.be.copy_htod(made[0], np.eye(k, dtype=np.float32))

        def gemm() -> None:
            self.be.gemm("none", "none", m, k, k, 1.0, a, k, made[0], k, 0.0, c, k)

        if self.attempt(gemm):
            self.model[c][: m * k] = self.model[a][: m * k]
        self.be.free(made[0])
        self.gone.append(made[0])

    def record(self, draw: Draw) -> None:
        """A few ops, replayed on what their buffers hold by then."""
        try:
            recording = self.be.record()
        except tw.InvalidArgument:
            if self.alone:
                raise
            return  # another thread records
        with recording:
            steps = [self.recorded(draw) for _ in range(draw.integer(0, 5))]
        for _ in range(draw.integer(0, 3)):
            if draw.below(2):
                self.upload(draw)
            recording.replay()
            for step in steps:
                step()
        recording.drop()

    def recorded(self, draw: Draw) -> Callable[[], None]:
        """Records an op; what it does to the model, which gives what it wrote."""
        source, target = self.pick(draw), self.pick(draw)
        x, y = self.model[source], self.model[target]
        n = draw.integer(1, min(x.size, y.size))
        made: list[int] = []

        def through_a_buffer_of_its_own() -> None:
            made.append(self.be.alloc(4 * n))
            self.be.unary("neg", source, made[0], n)
            self.be.binary("max", made[0], target, target, n)
            self.be.free(made[0])

        how = draw.below(3)
        if how == 0 and source != target:
            self.be.copy_dtod(target, source, 4 * n, 4 * (y.size - n))
            return lambda: y.__setitem__(slice(y.size - n, None), x[:n])
        if how == 1 and self.attempt(through_a_buffer_of_its_own):
            self.gone.append(made[0])
            return lambda: y.__setitem__(slice(n), np.maximum(-x[:n], y[:n]))
        if self.attempt(lambda: self.be.unary("neg", source, target, n)):
            return lambda: y.__setitem__(slice(n), -x[:n])
        return lambda: None

    def use_after_free(self, draw: Draw) -> None:
        if not self.gone:
            return
        handle, live = draw.one_of(self.gone), self.pick(draw)
        for call in (
            lambda: self.be.free(handle),
            lambda: self.be.unary("neg", handle, live, 1),
            lambda: self.be.copy_dtod(live, handle, 4),
            lambda: self.be.buffer_bytes(handle),
        ):
            try:
                call()
            except tw.InvalidArgument:
                continue
            raise Fault("a freed handle is taken")

    def trim(self, draw: Draw) -> None:
        self.be.trim()
        if self.alone and self.be.memory_stats().cached_bytes:
            raise Fault("trim() left cached memory")

    def synchronize(self, draw: Draw) -> None:
        self.be.synchronize()

    def profile(self, draw: Draw) -> None:
        if not self.alone:
            return
        if self.profiling:
            self.end_profile()
        else:
            self.be.begin_profile()
            self.profiling = True

    def end_profile(self) -> None:
        self.profiling = False
        for record in self.be.end_profile():
            if record.duration_ns < 0 or not record.kernel:
                raise Fault(f"a profile has {record}")


def relu(x: Array) -> Array:
    return np.maximum(x, np.float32(0))


ACTIONS: list[Callable[[Player, Draw], None]] = [
    Player.unary, Player.binary, Player.free, Player.upload, Player.download, Player.copy,
    Player.unary, Player.binary, Player.reduce, Player.product, Player.use_after_free,
    Player.trim, Player.synchronize, Player.profile, Player.read_async, Player.read_async,
    Player.event, Player.record,
]  # fmt: skip


def play(player: Player, draw: Draw, steps: int) -> int:
    for _ in range(steps):
        player.step(draw)
    player.finish()
    return player.done


def within_a_limit(make: Callable[..., tw.Backend], draw: Draw) -> int:
    limit = draw.one_of([100_000, 300_000, 1_000_000, 4_000_000])
    with make(memory_limit=limit) as be:
        return play(Player(be, limit), draw, draw.integer(10, 60))


def several_backends(make: Callable[..., tw.Backend], draw: Draw) -> int:
    """Some of which are closed and opened again between the steps."""
    backends = [make() for _ in range(draw.integer(1, 3))]
    players: list[Player | None] = [None] * len(backends)
    done = 0
    for _ in range(draw.integer(5, 40)):
        at = draw.below(len(backends))
        be, player = backends[at], players[at]
        if player is None:
            be.init()
            players[at] = Player(be)
        elif draw.rarely(6):
            done += player.done
            if draw.below(2):
                player.finish()
            stale = list(player.model)
            be.close()
            player.finish_reads(True)
            players[at] = None
            if draw.below(2):
                be.init()
                players[at] = Player(be)
            for handle in stale:
                try:
                    be.buffer_bytes(handle)
                except (tw.InvalidArgument, tw.NotInitialized):
                    continue
                raise Fault("a handle from before close() is taken")
        else:
            player.step(draw)
    for be, player in zip(backends, players, strict=True):
        if player is not None:
            done += player.done
            player.finish()
        be.close()
    return done


def threads(be: tw.Backend, make: Callable[..., tw.Backend], draw: Draw) -> int:
    """Each with its own buffers on one backend, which may be closed under them."""
    closed_at = draw.integer(1, 30) if draw.rarely(3) else None
    shared = be if closed_at is None else make()
    shared.init()
    seeds = [draw.below(2**31) for _ in range(draw.integer(2, 5))]
    steps = draw.integer(10, 40)
    faults: list[BaseException] = []
    done = [0] * len(seeds)

    def work(at: int) -> None:
        own = Draw(seeds[at], 0)
        player = Player(shared, alone=False)
        try:
            for step in range(steps):
                if at == 0 and step == closed_at:
                    shared.close()
                player.step(own)
                done[at] += 1
            player.finish()
        except tw.NotInitialized as error:
            if closed_at is None:
                faults.append(error)
        except tw.InvalidArgument as error:
            # close() ends what is recorded, also between record() and the first call in it.
            if closed_at is None or "not under way" not in str(error):
                faults.append(error)
        except BaseException as error:
            faults.append(error)

    running = [threading.Thread(target=work, args=(at,)) for at in range(len(seeds))]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if shared is not be:
        shared.close()
    if faults:
        raise faults[0]
    return sum(done)
