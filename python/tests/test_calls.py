"""Calls of operations: frames of a program, and modules of its model, without a ttnn."""

import gc
import json
import sys
import threading
import types
import weakref

import pytest
from kprof.ttnn.calls import Calls

KNOWS_OBJECTS = sys.version_info[:2] != (3, 11)
SEEN = []


def calls():
    return Calls(types.SimpleNamespace(__file__="/nowhere/ttnn/__init__.py"))


def op(kept):
    """Stands for an operation: what it is called by."""
    SEEN.append(kept.of(sys._getframe(1)))


class Linear:
    def __call__(self, kept):
        op(kept)


class Block:
    def __init__(self):
        self.linear, self.items = Linear(), {"a.b": Linear(), "out": Linear()}

    def forward(self, kept):
        self.linear(kept)
        for name in self.items:
            self.items[name](kept)
        Linear()(kept)
        (lambda: op(kept))()


class Model:
    def __init__(self):
        self.blocks = [Block() for _ in range(2)]

    def __call__(self, kept):
        for block in self.blocks:
            block.forward(kept)


def modules(kept, program):
    """The innermost module of each op that a program calls; calls must be new."""
    del SEEN[:]
    program()
    return [innermost(frames) for _, frames in SEEN]


def innermost(frames):
    """The innermost module of a call."""
    names = [frame["module"] for frame in json.loads(frames)["frames"] if frame["module"]]
    return names[-1] if names else None


PARTS = (".linear", ".items[a.b]", ".items.out", ".<Linear>", "")
"""Modules that a block calls, and the block itself."""


@pytest.mark.skipif(not KNOWS_OBJECTS, reason="this Python shows no object of a frame")
def test_modules_are_named_by_attributes_and_items():
    kept, model = calls(), Model()
    expected = [
        f"Model.blocks.{number}{part}"
        for number in range(2)
        for part in PARTS
    ]
    assert modules(kept, lambda: model(kept)) == expected
    # A part that is called alone keeps its place; another object of the class has a number.
    assert modules(kept, lambda: model.blocks[1].linear(kept)) == ["Model.blocks.1.linear"]
    other = Model()
    assert modules(kept, lambda: other.blocks[0].linear(kept)) == ["Linear"]
    assert modules(kept, lambda: other(kept))[0] == "Model#2.blocks.0.linear"


def test_equal_calls_are_described_once():
    kept, model = calls(), Model()
    model(kept)
    del SEEN[:]
    for _ in range(3):
        model(kept)
    names = [name for name, _ in SEEN]
    # The first of the three is called from another line than the call above.
    assert names[:10] == names[10:20] == names[20:]
    assert all(frames is None for _, frames in SEEN[10:])


def test_frames_have_file_line_and_function():
    del SEEN[:]
    kept = calls()
    line = (op(kept), sys._getframe().f_lineno)[1]
    frame = json.loads(SEEN[0][1])["frames"][-1]
    name = "test_frames_have_file_line_and_function"
    assert frame == {"file": __file__, "line": line, "function": name, "module": None}
    # Code that is in no file is named as its interpreter names it.
    exec(compile("op(kept)", "<typed>", "exec"), {"op": op, "kept": kept})
    assert json.loads(SEEN[1][1])["frames"][-1]["file"] == "<typed>"


def test_threads_have_their_own_frames():
    del SEEN[:]
    kept = calls()
    thread = threading.Thread(target=lambda: op(kept))
    thread.start()
    thread.join()
    (frame,) = json.loads(SEEN[0][1])["frames"]
    assert frame["function"].endswith("<lambda>") and frame["file"] == __file__


def test_no_variable_lives_longer_than_the_program_wants():
    class Tensor:
        pass

    class Layer:
        def __call__(self, kept):
            tensor = Tensor()
            watched = weakref.ref(tensor)
            op(kept)
            del tensor
            return watched() is None

    layer, kept = Layer(), calls()
    gc.disable()
    try:
        assert layer(kept) and layer(kept)
    finally:
        gc.enable()
    watched = weakref.ref(layer)
    del layer
    assert watched() is None


class Slotted:
    """A module to which no weak reference exists, with parts that are in no dictionary."""

    __slots__ = ("inner", "unset")

    def __init__(self, inner=None):
        self.inner = inner

    def __call__(self, kept):
        op(kept)
        if self.inner is not None:
            self.inner(kept)


@pytest.mark.skipif(not KNOWS_OBJECTS, reason="this Python shows no object of a frame")
def test_objects_that_cannot_be_followed_are_not_taken_for_each_other():
    kept = calls()
    model = types.SimpleNamespace(first=Slotted(Linear()), second=Slotted(Linear()))

    class Outer:
        def __init__(self):
            self.first, self.second = model.first, model.second

        def forward(self):
            for part in (self.first, self.second):
                part(kept)

    expected = ["Outer.first", "Outer.first.inner", "Outer.second", "Outer.second.inner"]
    outer = Outer()
    del SEEN[:]
    for _ in range(2):
        outer.forward()
    texts = {name: frames for name, frames in SEEN if frames is not None}
    found = [json.loads(texts[name])["frames"][-1]["module"] for name, _ in SEEN]
    assert found == 2 * expected
    # Which of several such objects it is that no module calls is unknown.
    assert modules(kept, lambda: model.first(kept)) == ["<Slotted>", "<Slotted>.inner"]


@pytest.mark.skipif(not KNOWS_OBJECTS, reason="this Python shows no object of a frame")
def test_an_object_that_is_where_another_one_was_is_another_one():
    class Root:
        def __call__(self, kept):
            op(kept)

    del SEEN[:]
    kept, first = calls(), Root()
    places, texts, found = {id(first)}, {}, []
    for _ in range(200):
        first(kept)
        name, frames = SEEN[-1]
        texts[name] = texts.get(name) or json.loads(frames)["frames"][-1]["module"]
        found.append(texts[name])
        # `second` is alive meanwhile, so that the next object of this place is no successor of its name.
        second = Root()
        second(kept)
        name, frames = SEEN[-1]
        texts[name] = texts.get(name) or json.loads(frames)["frames"][-1]["module"]
        del first
        first = second
        places.add(id(first))
    assert len(places) < 200, "no place was used again"
    # The first object has no number; when it is gone, its name is free.
    assert set(found) == {"Root", "Root#2"}
    assert all(one != other for one, other in zip(found, found[1:]))


def test_no_other_variable_is_taken_for_an_object_that_is_deleted():
    class Layer:
        def forward(self, kept):
            other = Linear()
            del self
            op(kept)
            return other

    del SEEN[:]
    Layer().forward(calls())
    assert json.loads(SEEN[0][1])["frames"][-1]["module"] is None


def test_calls_without_a_frame_of_the_program_have_none():
    kept = calls()
    # An operation that C++ calls has no frame of Python.
    assert kept.of(None) is None
    names = {"kept": kept, "sys": sys, "__name__": "torch.nn"}
    exec(compile("def of(): return kept.of(sys._getframe())", "/library/torch.py", "exec"), names)
    found = []
    thread = threading.Thread(target=lambda of: found.append(of()), args=(names["of"],))
    thread.start()
    thread.join()
    assert [json.loads(frames)["frames"][-1]["function"][-8:] for _, frames in found] == ["<lambda>"]


def test_known_calls_are_forgotten_when_they_are_too_many(monkeypatch):
    from kprof.ttnn import calls as module

    kept, model = calls(), Model()
    monkeypatch.setattr(module, "MOST_KNOWN", 3)
    monkeypatch.setattr(module, "MOST_PLACES", 40)
    told = {}
    for _ in range(3):
        del SEEN[:]
        model(kept)
        told |= {name: innermost(frames) for name, frames in SEEN if frames is not None}
        found = [told[name] for name, _ in SEEN]
        assert kept._known_count <= 3 and kept._place_count <= 200
        if KNOWS_OBJECTS:
            assert found == [f"Model.blocks.{number}{part}" for number in range(2) for part in PARTS]
        else:
            assert found == [None] * 10


def instructions(kept, program):
    """How many instructions of Python each call of an op takes to find its frames, once it is known."""
    counts = []

    def counted_op(kept):
        frame = sys._getframe(1)
        count = 0

        def count_one(at, event, argument):
            nonlocal count
            at.f_trace_opcodes = True
            count += event == "opcode"
            return count_one

        before = sys.gettrace()
        sys.settrace(count_one)
        try:
            kept.of(frame)
        finally:
            sys.settrace(before)
        counts.append(count)

    own, globals()["op"] = op, counted_op
    try:
        for _ in range(3):
            del counts[:]
            program()
    finally:
        globals()["op"] = own
    return counts


def deeper(levels, program):
    """Calls a program from a function that is some functions deeper."""
    return program() if levels == 0 else deeper(levels - 1, program)


@pytest.mark.skipif(sys.gettrace() is not None, reason="a debugger runs")
def test_a_known_call_takes_few_instructions_for_each_frame():
    """The cost of a call that is known: docs/ttnn.md has what it is in a program."""
    kept, linear = calls(), Linear()
    shallow, deep = (instructions(kept, lambda: deeper(levels, lambda: linear(kept)))[-1] for levels in (1, 41))
    of_frame = (deep - shallow) / 40
    assert 5 <= of_frame <= 25, of_frame
    # A method in addition, whose object is looked at.
    block = Block()
    block.items = {}
    direct = instructions(kept, lambda: linear(kept))[-1]
    within = instructions(kept, lambda: block.forward(kept))[0]
    assert 0 < within - direct <= of_frame + 45, (direct, within)
