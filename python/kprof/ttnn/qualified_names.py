"""Qualified names of functions: from 3.11 on, Python has them in the code of each function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

_OPTIMIZED = 0x1
"""Flag of the code of functions, which the code of the body of a class lacks."""
MOST_WRAPPERS = 16
"""Number of functions around each other in which one is looked for."""
DEEPEST = 16
"""Number of classes within each other in which functions are looked for."""
MOST_SCANS = 8
"""Number of times that a module or class is looked through for functions that are unknown."""


class QualifiedNames:
    """The qualified names of functions by their code. Equal names prove nothing."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[CodeType, str]] = {}
        """Names by the id of the code, which the reference keeps from being used again."""
        self._scans: dict[int, tuple[Any, int]] = {}
        """How often modules and classes have been looked through, by their ids."""

    def of(
        self,
        code: CodeType,
        names: dict[str, Any],
        kind: type | None,
        outer: Iterable[tuple[CodeType, str]],
    ) -> str:
        """Returns the qualified name of a function with this code, or its bare name if that is unknown.

        It is looked for among the functions and classes of its module, whose `names` these are, in the
        class `kind` of the object whose method it is, and within the `outer` functions that are calling, of
        which the qualified names are known.
        """
        known = getattr(code, "co_qualname", None)
        if known is not None:
            return str(known)
        if id(code) not in self._known and self._is_worth(names):
            self._add(list(_of_module(names)))
        if id(code) not in self._known and kind is not None and self._is_worth(kind):
            self._add(list(_of_classes(kind.__mro__, 0)))
        if id(code) not in self._known:
            for scope, name in outer:
                if _last(name) == scope.co_name:
                    self._add_within(scope, name)
        return self._known.get(id(code), (code, code.co_name))[1]

    def _is_worth(self, place: Any) -> bool:
        """Returns true unless a module or class has been looked through often, as for code that `exec` makes."""
        _, count = self._scans.get(id(place), (place, 0))
        self._scans[id(place)] = place, count + 1
        return count < MOST_SCANS

    def _add(self, functions: list[FunctionType]) -> None:
        # A decorator may give its own function the name of another.
        named = [of for of in functions if _last(of.__qualname__) == of.__code__.co_name]
        for function in named:
            self._known.setdefault(id(function.__code__), (function.__code__, function.__qualname__))
        for function in named:
            self._add_within(function.__code__, function.__qualname__)

    def _add_within(self, scope: CodeType, name: str) -> None:
        """Adds the functions whose code is part of a code, whose qualified name is `name`."""
        open_scopes = [(scope, name)]
        while open_scopes:
            outer, name = open_scopes.pop()
            prefix = f"{name}.<locals>." if outer.co_flags & _OPTIMIZED else f"{name}."
            for inner in outer.co_consts:
                if isinstance(inner, CodeType):
                    _, own = self._known.setdefault(id(inner), (inner, prefix + inner.co_name))
                    open_scopes.append((inner, own))


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _of_module(names: dict[str, Any]) -> Iterator[FunctionType]:
    """Returns the functions of a module and of its classes; those of other modules are left out."""
    module = names.get("__name__")
    for value in list(names.values()):
        if isinstance(value, type):
            if value.__module__ == module:
                yield from _of_classes((value,), 0)
        else:
            yield from (of for of in _unwrapped(value) if of.__globals__ is names)


def _of_classes(classes: Iterable[type], depth: int) -> Iterator[FunctionType]:
    """Returns the functions of classes, and of the classes within them."""
    for kind in classes:
        for value in list(vars(kind).values()):
            if isinstance(value, type):
                is_within = value.__qualname__.startswith(f"{kind.__qualname__}.")
                if is_within and depth < DEEPEST:
                    yield from _of_classes((value,), depth + 1)
            elif isinstance(value, property):
                for accessor in (value.fget, value.fset, value.fdel):
                    yield from _unwrapped(accessor)
            elif isinstance(value, (classmethod, staticmethod)):
                yield from _unwrapped(value.__func__)
            else:
                yield from _unwrapped(value)


def _unwrapped(value: Any) -> Iterator[FunctionType]:
    """Returns a function, and those around which it is wrapped."""
    for _ in range(MOST_WRAPPERS):
        if type(value) is not FunctionType:
            return
        yield value
        value = value.__dict__.get("__wrapped__")
