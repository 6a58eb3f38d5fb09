"""Calls of operations: frames of a program, and modules of its model, without a ttnn."""

import functools
import gc
import json
import random
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


@pytest.mark.parametrize("is_cell", (False, True))
def test_no_other_variable_is_taken_for_an_object_that_is_deleted(is_cell):
    class Layer:
        def forward(self, kept):
            other = Linear()
            op(kept)
            del self
            op(kept)
            return other

        def inner(self, kept):
            other = Linear()
            op(kept)
            assert (lambda: self) is not other
            del self
            op(kept)
            return other

    kept = calls()
    method = Layer.inner if is_cell else Layer.forward
    assert modules(kept, lambda: method(Layer(), kept)) == ["Layer" if KNOWS_OBJECTS else None, None]


def test_objects_may_be_freed_while_a_call_is_looked_up():
    class Layer:
        def forward(self, kept):
            self.own = self
            op(kept)
            assert (lambda: self)() is self
            del self
            # Python collects garbage when it makes an object, such as an exception for an empty cell.
            gc.set_threshold(1)
            op(kept)

    kept, before = calls(), gc.get_threshold()
    try:
        for _ in range(20):
            gc.set_threshold(10_000)
            Layer().forward(kept)
    finally:
        gc.set_threshold(*before)


@pytest.mark.skipif(not KNOWS_OBJECTS, reason="this Python shows no object of a frame")
def test_objects_are_found_among_other_variables():
    class Layer:
        def __init__(self):
            self.first, self.second = Linear(), Linear()

        def cells(self, kept):
            before, after = Linear(), Linear()
            op(kept)
            # Both, and the argument, are in cells, too.
            (lambda: (before, after, self, op(kept)))()

        def asked(self, kept):
            # Variables that somebody has asked for are in a dictionary of the frame.
            assert sys._getframe().f_locals["self"] is self
            op(kept)

        def traced(self, kept):
            sys._getframe().f_trace = lambda *_: None
            op(kept)

        def later(self, kept):
            for part in (self.first, self.second):
                part(kept)
                yield op(kept)

    kept, layer = calls(), Layer()
    for method, count in ((layer.cells, 2), (layer.asked, 1), (layer.traced, 1)):
        assert modules(kept, lambda: method(kept)) == ["Layer"] * count
    steps = layer.later(kept)
    assert modules(kept, lambda: next(steps)) == ["Layer.first", "Layer"]
    assert modules(kept, lambda: list(steps)) == ["Layer.second", "Layer"]
    # In a call that is known, it is the object of this call, and not the one of the call before.
    for part in (layer.second, layer.first, layer.second):
        part(kept)
        assert innermost_of(kept) == ("Layer.first" if part is layer.first else "Layer.second")


def innermost_of(kept):
    """The innermost module of the last call, which may be known."""
    name, frames = SEEN[-1]
    texts = kept.__dict__.setdefault("texts", {})
    texts.update({name: frames for name, frames in SEEN if frames is not None})
    return innermost(texts[name])


def test_what_is_no_frame_is_refused():
    kept = calls()
    for other in (0, "frame", kept, sys._getframe):
        with pytest.raises(TypeError, match="expected a frame, found"):
            kept._known.find(other)
        with pytest.raises(TypeError, match="expected a frame, found"):
            kept._known.own_object(other, None)
    for cell in (1000, sys.maxsize):
        # No function has so many variables.
        found = kept._known.own_object(sys._getframe(), cell)
        assert found is None


class Tree:
    """A module whose parts are called in a random order, each from one of several places."""

    def __init__(self, path, choose, depth):
        self.path = path
        kinds = ("list", "dict", "attribute") if depth else ()
        self.items, self.named = [], {}
        for kind in choose.sample(kinds, len(kinds)):
            if kind == "list":
                self.items = [Tree(f"{path}.items.{at}", choose, depth - 1) for at in range(2)]
            elif kind == "dict":
                self.named = {"part": Tree(f"{path}.named.part", choose, depth - 1)}
            else:
                self.other = Tree(f"{path}.other", choose, depth - 1)

    def parts(self):
        return [*self.items, *self.named.values(), *filter(None, [getattr(self, "other", None)])]

    def straight(self, expect, choose):
        expect(self)
        for part in self.chosen(choose):
            getattr(part, choose.choice(WAYS))(expect, choose)

    def through_a_closure(self, expect, choose):
        def inner():
            expect(self)

        inner()
        list(map(lambda part: getattr(part, choose.choice(WAYS))(expect, choose), self.chosen(choose)))

    def by_a_generator(self, expect, choose):
        def each():
            yield from self.chosen(choose)

        for part in each():
            getattr(part, choose.choice(WAYS))(expect, choose)
            expect(self)

    def __call__(self, expect, choose):
        getattr(self, choose.choice(WAYS))(expect, choose)

    def chosen(self, choose):
        return choose.sample(self.parts(), choose.randint(0, len(self.parts())))


WAYS = ("straight", "through_a_closure", "by_a_generator", "__call__")


@pytest.mark.skipif(not KNOWS_OBJECTS, reason="this Python shows no object of a frame")
@pytest.mark.parametrize("seed", range(3))
def test_each_call_of_random_models_has_its_own_module_function_and_line(seed):
    kept, texts, checked = calls(), {}, []

    def expect(part):
        frame = sys._getframe(1)
        name, frames = kept.of(frame)
        texts.setdefault(name, frames)
        told = json.loads(texts[name])["frames"]
        found = [one["module"] for one in told if one["module"]][-1]
        assert found == part.path
        assert (told[-1]["line"], told[-1]["file"]) == (frame.f_lineno, __file__)
        checked.append(name)

    def run(seed):
        choose = random.Random(seed)
        for _ in range(20):
            # Objects of the models before are freed, and their places used again.
            model = Tree("Tree", choose, 2)
            for _ in range(20):
                model(expect, choose)
            del model
            gc.collect()

    run(seed)
    thread = threading.Thread(target=run, args=(seed + 100,))
    thread.start()
    thread.join()
    assert len(checked) > 1000 and 100 < len(set(checked)) < len(checked) / 2


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

    monkeypatch.setattr(module, "MOST_KNOWN", 3)
    monkeypatch.setattr(module, "MOST_PLACES", 40)
    kept, model = calls(), Model()
    told = {}
    for _ in range(3):
        del SEEN[:]
        model(kept)
        told |= {name: innermost(frames) for name, frames in SEEN if frames is not None}
        found = [told[name] for name, _ in SEEN]
        assert kept._known.call_count <= 3 and kept._known.place_count <= 200
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
def test_a_known_call_takes_no_instruction_for_a_frame():
    """The cost of a call that is known: docs/ttnn.md has what it is in a program."""
    kept, linear, block = calls(), Linear(), Block()
    block.items = {}
    counts = {
        levels: instructions(kept, lambda: deeper(levels, lambda: linear(kept)))[-1]
        for levels in (1, 41)
    }
    # A method in addition, whose object is looked at.
    counts["method"] = instructions(kept, lambda: block.forward(kept))[0]
    assert len(set(counts.values())) == 1 and counts["method"] <= 30, counts


def frame_of(function, *arguments):
    """The frame in which a function runs, which it returns."""
    return function(*arguments)


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


class Named:
    """Functions of all kinds; each returns its frame, or that of a function within."""

    def method(self):
        return sys._getframe()

    def __private(self):
        return sys._getframe()

    @decorated
    def wrapped(self):
        return sys._getframe()

    @property
    def attribute(self):
        return sys._getframe()

    @classmethod
    def of_class(cls):
        return sys._getframe()

    @staticmethod
    def static():
        return sys._getframe()

    def within(self):
        def inner():
            return (lambda: sys._getframe())()

        return inner()

    def comprehension(self):
        class Local:
            def method(self):
                return sys._getframe()

        return [Local().method() for _ in range(1)][0]

    class Inner:
        def method(self):
            return sys._getframe()

    other_name = method


class Derived(Named):
    def method(self):
        return super().method()


def as_lambda():
    return (lambda: sys._getframe())()


def made():
    class Kind:
        def method(self):
            return sys._getframe()

    return Kind()


def described(frame):
    """The functions of a call as they are told, by the line that each is at."""
    _, text = calls().of(frame)
    return [told["function"] for told in json.loads(text)["frames"]]


CALLED = [
    (Named().method, "Named.method"),
    (Named().other_name, "Named.method"),
    (Named()._Named__private, "Named.__private"),
    (Named().wrapped, "Named.wrapped"),
    (lambda: Named().attribute, "Named.attribute"),
    (Named.of_class, "Named.of_class"),
    (Named.static, "Named.static"),
    (Named().within, "Named.within.<locals>.inner.<locals>.<lambda>"),
    (Named().comprehension, "Named.comprehension.<locals>.Local.method"),
    (Named.Inner().method, "Named.Inner.method"),
    (Derived().method, "Named.method"),
    (as_lambda, "as_lambda.<locals>.<lambda>"),
    (made().method, "made.<locals>.Kind.method"),
    (decorated(as_lambda), "as_lambda.<locals>.<lambda>"),
]
"""Functions, and the qualified names that Python's documentation defines for those that run in the end."""


@pytest.mark.parametrize("function, expected", CALLED, ids=[name for _, name in CALLED])
def test_functions_have_their_qualified_names(function, expected):
    # While it runs, as in a program; its frame lasts for as long as it is held.
    frame = frame_of(function)
    assert described(frame)[-1] == expected
    assert frame.f_code.co_name == expected.rpartition(".")[2]


@pytest.mark.skipif(sys.version_info >= (3, 11), reason="this Python has the names in its code")
def test_no_function_gets_the_qualified_name_of_another():
    """Functions of equal names: one is in no class any more, one is renamed, one is nowhere to be found."""
    own = "test_no_function_gets_the_qualified_name_of_another.<locals>."

    class Shadow:
        def method(self):
            return sys._getframe()

    lost = Shadow.method
    Shadow.method = Named.method
    for owner in (Named(), Shadow()):
        assert described(frame_of(lost, owner))[-1] == f"{own}Shadow.method"
        assert described(frame_of(Shadow.method, owner))[-1] == "Named.method"

    def renamed():
        return sys._getframe()

    renamed.__qualname__ = "Named.method"
    assert described(frame_of(renamed))[-1] == f"{own}renamed"
    names = {"sys": sys, "__name__": "elsewhere"}
    exec(compile("def method(self): return sys._getframe()", "elsewhere.py", "exec"), names)
    assert described(frame_of(names["method"], Named()))[-1] == "method"
    names["method"].__qualname__ = "Named.other"
    assert described(frame_of(names.pop("method"), Named()))[-1] == "method"
