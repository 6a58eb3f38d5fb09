"""Calls of operations: the program's own frames, and the module of the model that called."""

from __future__ import annotations

import ctypes
import dis
import gc
import hashlib
import itertools
import json
import os
import sys
import sysconfig
import weakref
from collections.abc import Callable
from types import CellType, CodeType, FrameType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

MOST_FRAMES = 64
"""Number of innermost frames of a call that are kept."""
MOST_KNOWN = 1 << 16
"""Number of calls that are remembered, so that their frames need not be described again."""
MOST_PLACES = 1 << 18
"""Number of frames of remembered stacks."""
MOST_OBJECTS = 4096
"""Number of objects in which a module is looked for."""
DEEPEST = 4
"""Number of attributes and items between two modules, such as 2 for `layers[3]`."""
MOST_SEARCHES = 8
"""Number of objects of one class that are looked for in vain, as they are made for each call."""
LIBRARIES = frozenset(("torch", "_pytest", "pluggy", "pytest"))
"""Packages whose frames are between those of the program, and none of its own."""
_PLAIN = (str, bytes, int, float, complex, type(None), type, FunctionType, ModuleType)
"""Kinds of objects that hold no modules."""


class _Code:
    """What is known of the frames of a function."""

    __slots__ = ("cell", "code", "file", "function", "is_kept", "is_method")

    def __init__(self, code: CodeType, is_kept: bool) -> None:
        # The reference keeps the code's id from being used again.
        self.code = code
        self.file = code.co_filename
        self.function = str(getattr(code, "co_qualname", code.co_name))
        self.is_kept = is_kept
        has_self = code.co_argcount > 0 and code.co_varnames[0] == "self"
        self.is_method = is_kept and has_self and not _deletes_self(code)
        is_cell = self.is_method and "self" in code.co_cellvars
        self.cell = code.co_cellvars.index("self") if is_cell else None
        """Number of the cell that holds `self` if an inner function uses it."""


def _deletes_self(code: CodeType) -> bool:
    """Returns true for functions after whose `del self` another variable would be taken for it."""
    return any(one.opname == "DELETE_FAST" and one.argval == "self" for one in dis.get_instructions(code))


Steps = tuple[tuple[int, _Code, bool], ...]
"""The methods of a stack: the number of callers from the method before, what is known of each, and
whether `self` is an ordinary variable of a function that another one of Python has called."""


def _of_stack(frame: FrameType, code: _Code) -> Any:
    """Returns `self` of a method's frame in Python 3.10.

    The attribute `f_locals` would keep all local variables alive until the method returns.
    """
    held = gc.get_referents(frame)
    if code.cell is None and frame.f_trace is None and frame.f_back is not None and type(held[4]) is not dict:
        return held[4]
    # Before its variables, a frame holds the caller's frame, the code, builtins, globals, and, if
    # the program has asked for them, a dictionary of variables and a trace function.
    first = 3 + (frame.f_back is not None)
    if code.cell is not None:
        cells = [one for one in held[first:] if type(one) is CellType]
        return cells[code.cell].cell_contents if code.cell < len(cells) else None
    for one in held[first:]:
        if type(one) is not dict and one is not frame.f_trace:
            return one
    return None


def _ids_on_stack(frame: Any, steps: Steps) -> tuple[int, ...]:
    """Returns the ids of `self` in the methods of a stack; in Python 3.10, as :func:`_of_stack`.

    Each call of an operation needs them, so the usual case is here.
    """
    found = []
    for callers, code, is_usual in steps:
        while callers:
            frame = frame.f_back
            callers -= 1
        if is_usual and frame.f_trace is None:
            owner = _referents(frame)[4]
            found.append(id(owner if type(owner) is not dict else _of_stack(frame, code)))
        else:
            found.append(id(_of_stack(frame, code)))
    return tuple(found)


def _ids(frame: Any, steps: Steps) -> tuple[int, ...]:
    """Returns the ids of `self` in the methods of a stack."""
    found = []
    for callers, code, _ in steps:
        while callers:
            frame = frame.f_back
            callers -= 1
        found.append(id(_self_of(frame, code)))
    return tuple(found)


def _of_variable(frame: FrameType, code: _Code) -> Any:
    """Returns `self` of a method's frame in Python 3.12; see :func:`_of_stack`."""
    del code
    try:
        return _get_variable(frame, "self")
    except NameError:
        return None


def _of_view(frame: FrameType, code: _Code) -> Any:
    """Returns `self` of a method's frame since Python 3.13, whose `f_locals` keeps nothing alive."""
    del code
    return frame.f_locals.get("self")


def _unknown(frame: FrameType, code: _Code) -> Any:
    """Returns None: Python 3.11 shows variables of a frame only by keeping all of them alive."""
    del frame, code
    return None


def _way_to_self() -> Callable[[FrameType, _Code], Any]:
    """Returns the function that finds `self` in frames of this Python."""
    if sys.implementation.name != "cpython":
        return _unknown
    if sys.version_info[:2] == (3, 10):
        return _of_stack
    if sys.version_info[:2] == (3, 12):
        return _of_variable
    return _of_view if sys.version_info >= (3, 13) else _unknown


_self_of = _way_to_self()
_ids_of = _ids_on_stack if _self_of is _of_stack else _ids
_referents = gc.get_referents
if _self_of is _of_variable:
    _get_variable = ctypes.pythonapi.PyFrame_GetVar
    _get_variable.argtypes = [ctypes.py_object, ctypes.py_object]
    _get_variable.restype = ctypes.py_object


class _Stack:
    """What is known of the calls from the same instructions of the same functions."""

    __slots__ = ("names", "steps")

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.names: dict[tuple[int, ...], str | None] = {}
        """Names of calls by the ids of `self` in the methods, all of which are alive."""


class Calls:
    """The distinct calls of a program; each gets a name and is described once."""

    def __init__(self, ttnn: Any) -> None:
        own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self._hidden = tuple(
            os.path.join(folder, "")
            for folder in (own, os.path.dirname(os.path.abspath(ttnn.__file__)))
        )
        self._library = os.path.join(sysconfig.get_paths()["stdlib"], "")
        self._codes: dict[int, _Code] = {}
        self._stacks: dict[tuple[int, ...], _Stack] = {}
        """Stacks by the ids of their code and the places in it, the innermost first."""
        self._known_count = 0
        self._place_count = 0
        self._uses: dict[int, list[tuple[_Stack, tuple[int, ...]]]] = {}
        """Names of calls that end with an object, by its id."""
        self._told: set[str] = set()
        self._untold: dict[str, str] = {}
        self._serials: dict[int, tuple[Any, int]] = {}
        self._next_serial = itertools.count(1)
        self._searches: dict[tuple[type, type], int] = {}
        self._found: dict[tuple[int, int], str] = {}
        self._paths: dict[int, str] = {}
        """Paths of modules that are part of others, by their serial numbers."""
        self._roots: dict[type, list[int]] = {}
        """Serial numbers of modules that are part of no other, by their class."""
        self._alive: set[int] = set()

    def of(self, frame: FrameType | None) -> tuple[str, str | None] | None:
        """Returns the name of the call in `frame`, and its frames as JSON if they are new.

        Returns None if no frame is the program's own.
        """
        # Only what differs from call to call is looked at: where the functions are, and which
        # objects their methods belong to.
        places: list[int] = []
        add = places.append
        at = frame
        while at is not None:
            add(id(at.f_code))
            add(at.f_lasti)
            at = at.f_back
        key = tuple(places)
        stack = self._stacks.get(key)
        if stack is None:
            stack = self._learn_stack(key, frame)
        ids = _ids_of(frame, stack.steps) if stack.steps else ()
        name = stack.names.get(ids, "")
        if name == "":
            name = self._describe(stack, ids, frame)
        if name is None:
            return None
        return name, (self._untold.pop(name, None) if self._untold else None)

    def _learn_stack(self, key: tuple[int, ...], frame: FrameType | None) -> _Stack:
        steps: list[tuple[int, _Code, bool]] = []
        callers = 0
        while frame is not None:
            code = self._codes.get(id(frame.f_code)) or self._learn(frame)
            if code.is_method:
                steps.append((callers, code, code.cell is None and frame.f_back is not None))
                callers = 0
            frame = frame.f_back
            callers += 1
        self._place_count += len(key) // 2
        if self._place_count > MOST_PLACES:
            self._forget_calls()
            self._place_count = len(key) // 2
        stack = self._stacks[key] = _Stack(tuple(steps))
        return stack

    def _learn(self, frame: FrameType) -> _Code:
        code = frame.f_code
        file = code.co_filename
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        is_library = file.startswith(self._library) and "-packages" not in file
        is_hidden = file.startswith(self._hidden) or file.startswith("<frozen ")
        known = _Code(code, not (is_library or is_hidden or package in LIBRARIES))
        self._codes[id(code)] = known
        return known

    def _forget_calls(self) -> None:
        self._stacks.clear()
        self._uses.clear()
        self._known_count = self._place_count = 0

    def _serial(self, owner: Any) -> int:
        """Returns a number of an object that no other object ever has; 0 if it has none."""
        if owner is None:
            return 0
        known = self._serials.get(id(owner))
        if known is not None:
            return known[1]
        identity = id(owner)
        serial = next(self._next_serial)

        def forget(_: Any) -> None:
            # Another object may get the same id.
            for stack, ids in self._uses.pop(identity, ()):
                stack.names.pop(ids, None)
            self._serials.pop(identity, None)
            self._alive.discard(serial)
            self._paths.pop(serial, None)

        try:
            self._serials[identity] = weakref.ref(owner, forget), serial
        except TypeError:
            return 0
        self._alive.add(serial)
        return serial

    def _describe(self, stack: _Stack, ids: tuple[int, ...], frame: FrameType | None) -> str | None:
        """Describes a call that is not known yet; returns its name."""
        frames: list[tuple[_Code, FrameType]] = []
        while frame is not None:
            code = self._codes[id(frame.f_code)]
            if code.is_kept:
                frames.append((code, frame))
            frame = frame.f_back
        frames.reverse()
        told: list[dict[str, Any]] = []
        path: list[tuple[Any, str]] = []
        is_known = True
        for code, at in frames:
            owner = _self_of(at, code) if code.is_method else None
            module = None
            if owner is not None:
                # Without a weak reference, another object with the same id would be taken for it.
                is_known = self._serial(owner) > 0 and is_known
                if _is_module(owner):
                    module = self._enter(path, owner)
            frame_told = {"file": code.file, "line": at.f_lineno}
            told.append({**frame_told, "function": code.function, "module": module})
        left_out = max(0, len(told) - MOST_FRAMES)
        text = json.dumps({"frames": told[left_out:], "left_out": left_out})
        name = hashlib.sha256(text.encode()).hexdigest()[:16] if told else None
        if is_known:
            self._remember(stack, ids, name)
        if name is not None and name not in self._told:
            self._told.add(name)
            self._untold[name] = text
        return name

    def _remember(self, stack: _Stack, ids: tuple[int, ...], name: str | None) -> None:
        self._known_count += 1
        if self._known_count > MOST_KNOWN:
            # The stack of this call is learned again at the next one.
            self._forget_calls()
            return
        stack.names[ids] = name
        for identity in ids:
            if identity in self._serials:
                self._uses.setdefault(identity, []).append((stack, ids))

    def _enter(self, path: list[tuple[Any, str]], owner: Any) -> str:
        """Adds the module that calls next to the modules that are calling; returns its path."""
        for at in range(len(path) - 1, -1, -1):
            outer, name = path[at]
            if outer is owner:
                path.append((owner, name))
                return name
            inner = self._find(outer, owner)
            if inner is not None:
                path.append((owner, f"{name}{inner if inner[0] == '[' else f'.{inner}'}"))
                if serial := self._serial(owner):
                    self._paths[serial] = path[-1][1]
                return path[-1][1]
        if path:
            # An object that no module holds, such as one that is made for the call.
            path.append((owner, f"{path[-1][1]}.<{type(owner).__name__}>"))
        else:
            path.append((owner, self._paths.get(self._serial(owner)) or self._root(owner)))
        return path[-1][1]

    def _root(self, owner: Any) -> str:
        """Returns the class of a module, with a number if others of this class are alive."""
        serial, kind = self._serial(owner), type(owner)
        if not serial:
            # Such objects cannot be told apart from call to call.
            return f"<{kind.__name__}>"
        numbers = self._roots.setdefault(kind, [])
        if serial not in numbers:
            free = [at for at, number in enumerate(numbers) if number not in self._alive]
            if free:
                numbers[free[0]] = serial
            else:
                numbers.append(serial)
        at = numbers.index(serial)
        return kind.__name__ if at == 0 else f"{kind.__name__}#{at + 1}"

    def _find(self, outer: Any, wanted: Any) -> str | None:
        """Returns the attributes and items by which an object holds another one."""
        pair = self._serial(outer), self._serial(wanted)
        if pair in self._found:
            return self._found[pair]
        kinds = type(outer), type(wanted)
        if self._searches.get(kinds, 0) >= MOST_SEARCHES:
            return None
        level: list[tuple[Any, str]] = [(outer, "")]
        seen = {id(outer)}
        for _ in range(DEEPEST):
            deeper: list[tuple[Any, str]] = []
            for holder, path in level:
                for name, held in _held_by(holder):
                    inner = f"{path}.{name}" if path and name[0] != "[" else f"{path}{name}"
                    if held is wanted:
                        if all(pair) and len(self._found) < MOST_KNOWN:
                            self._found[pair] = inner
                        return inner
                    if id(held) not in seen and not isinstance(held, _PLAIN):
                        seen.add(id(held))
                        deeper.append((held, inner))
                        if len(seen) > MOST_OBJECTS:
                            break
            level = deeper
        self._searches[kinds] = self._searches.get(kinds, 0) + 1
        return None


def _is_module(owner: Any) -> bool:
    """Returns true for objects that are called as a part of a model is."""
    kind = type(owner)
    return hasattr(kind, "__call__") or hasattr(kind, "forward")


def _held_by(holder: Any) -> list[tuple[str, Any]]:
    """Returns the objects that an object holds, each with the name of its attribute or item."""
    if isinstance(holder, (list, tuple)):
        return [(str(at), held) for at, held in enumerate(holder)]
    if isinstance(holder, dict):
        return [(_item(key), held) for key, held in list(holder.items())]
    slots = _slots_of(holder)
    attributes = getattr(holder, "__dict__", None)
    if not isinstance(attributes, dict):
        return slots
    # torch keeps the attributes that are modules in a dictionary of their own.
    modules = attributes.get("_modules")
    inner = list(modules.items()) if isinstance(modules, dict) else []
    return [*slots, *((str(name), value) for name, value in [*inner, *list(attributes.items())])]


def _slots_of(holder: Any) -> list[tuple[str, Any]]:
    """Returns the attributes for which the class of an object has `__slots__`."""
    found: list[tuple[str, Any]] = []
    for kind in type(holder).__mro__:
        # Classes of extensions have members of their own, which are no parts of a model.
        if "__slots__" not in vars(kind):
            continue
        for name, member in vars(kind).items():
            if type(member) is MemberDescriptorType:
                try:
                    found.append((name, member.__get__(holder)))
                except AttributeError:
                    continue
    return found


def _item(key: Any) -> str:
    """Returns the name of a dictionary's item; brackets keep what is no name apart."""
    text = str(key)[:200]
    return text if text.isidentifier() or text.isdigit() else f"[{text}]"
