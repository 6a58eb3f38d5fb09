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
    told = [json.loads(frames)["frames"] for _, frames in SEEN]
    found = [[frame["module"] for frame in frames if frame["module"]] for frames in told]
    return [names[-1] if names else None for names in found]


@pytest.mark.skipif(not KNOWS_OBJECTS, reason="this Python shows no object of a frame")
def test_modules_are_named_by_attributes_and_items():
    kept, model = calls(), Model()
    expected = [
        f"Model.blocks.{number}{part}"
        for number in range(2)
        for part in (".linear", ".items[a.b]", ".items.out", ".<Linear>", "")
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
