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


def qualified_name(
    code: CodeType, names: dict[str, Any], kind: type | None, outer: Iterable[tuple[CodeType, str]]
) -> str:
    """Returns the qualified name of a function with this code, or its bare name if that is unknown.

    It is looked for among the functions and classes of its module, whose `names` these are, in the class
    `kind` of the object whose method it is, and within the `outer` functions that are calling, of which the
    qualified names are known. A function has this code, or contains it; equal names prove nothing.
    """
    known = getattr(code, "co_qualname", None)
    if known is not None:
        return str(known)
    functions = [*_of_module(names), *(_of_classes(kind.__mro__, 0) if kind is not None else ())]
    for function in functions:
        # A decorator may give its own function the name of another.
        if function.__code__ is code and _last(function.__qualname__) == code.co_name:
            return function.__qualname__
    scopes = [(function.__code__, function.__qualname__) for function in functions]
    for scope, name in [*scopes, *outer]:
        if _last(name) == scope.co_name and (found := _within(scope, name, code)) is not None:
            return found
    return code.co_name


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


def _within(scope: CodeType, name: str, wanted: CodeType) -> str | None:
    """Returns the qualified name of a code that is part of another one, whose qualified name is `name`."""
    open_scopes = [(scope, name)]
    while open_scopes:
        outer, name = open_scopes.pop()
        prefix = f"{name}.<locals>." if outer.co_flags & _OPTIMIZED else f"{name}."
        for inner in outer.co_consts:
            if isinstance(inner, CodeType):
                if inner is wanted:
                    return prefix + inner.co_name
                open_scopes.append((inner, prefix + inner.co_name))
    return None
