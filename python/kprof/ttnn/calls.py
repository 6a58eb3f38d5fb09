"""Calls of operations: the program's own frames, and the module of the model that called."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sys
import sysconfig
import weakref
from types import CodeType, FrameType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from .._native import KnownCalls
from .qualified_names import QualifiedNames

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
        self.function: str | None = None
        """Qualified name, which is looked for when a call is described."""
        self.is_kept = is_kept
        has_self = code.co_argcount > 0 and code.co_varnames[0] == "self"
        self.is_method = is_kept and has_self
        is_cell = self.is_method and "self" in code.co_cellvars
        self.cell = code.co_nlocals + code.co_cellvars.index("self") if is_cell else None
        """Number of the cell that holds `self` if an inner function uses it, in Python 3.10."""


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
        self._names = QualifiedNames()
        self._known = KnownCalls(MOST_KNOWN, MOST_PLACES)
        self.find = self._known.find
        """Returns what :meth:`of` returns, without a step of Python; for new calls, and for those in
        which no frame is the program's own, something false."""
        self._told: set[str] = set()
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
        call = self.find(frame)
        return (self._describe(frame) if call is None else call) or None

    def _learn(self, frame: FrameType) -> _Code:
        code = frame.f_code
        file = code.co_filename
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        is_library = file.startswith(self._library) and "-packages" not in file
        is_hidden = file.startswith(self._hidden) or file.startswith("<frozen ")
        known = _Code(code, not (is_library or is_hidden or package in LIBRARIES))
        self._codes[id(code)] = known
        self._known.learn(code, known.is_method, known.cell)
        return known

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
            self._known.forget(identity)
            self._serials.pop(identity, None)
            self._alive.discard(serial)
            self._paths.pop(serial, None)

        try:
            self._serials[identity] = weakref.ref(owner, forget), serial
        except TypeError:
            return 0
        self._alive.add(serial)
        return serial

    def _describe(self, innermost: FrameType | None) -> tuple[str, str | None] | tuple[()]:
        """Describes a call that is not known yet; returns nothing if no frame is the program's own."""
        frames: list[tuple[_Code, FrameType]] = []
        frame = innermost
        while frame is not None:
            code = self._codes.get(id(frame.f_code)) or self._learn(frame)
            if code.is_kept:
                frames.append((code, frame))
            frame = frame.f_back
        frames.reverse()
        told: list[dict[str, Any]] = []
        path: list[tuple[Any, str]] = []
        outer: list[tuple[CodeType, str]] = []
        is_known = True
        for code, at in frames:
            owner = self._known.own_object(at, code.cell) if code.is_method else None
            module = None
            if owner is not None:
                # Without a weak reference, another object with the same id would be taken for it.
                is_known = self._serial(owner) > 0 and is_known
                if _is_module(owner):
                    module = self._enter(path, owner)
            if code.function is None:
                kind = None if owner is None else type(owner)
                code.function = self._names.of(code.code, at.f_globals, kind, outer)
            outer.append((code.code, code.function))
            frame_told = {"file": code.file, "line": at.f_lineno}
            told.append({**frame_told, "function": code.function, "module": module})
        left_out = max(0, len(told) - MOST_FRAMES)
        text = json.dumps({"frames": told[left_out:], "left_out": left_out})
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        if is_known:
            self._known.remember(innermost, (name, None) if told else ())
        if not told:
            return ()
        if name in self._told:
            return name, None
        self._told.add(name)
        return name, text

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
