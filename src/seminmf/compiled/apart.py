"""Functions that are compiled on their own and called by their address.

Numba compiles a function anew into each of its callers, and again into their callers: the products
with X would be compiled five times before the first fit. A function compiled apart is compiled once
and kept on disk by itself; its callers find its address in a structure.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from .jit import borrowing
from .structures import Structure, StructureType


def _argument(kind: Any) -> Any:
    """The type in which an argument is passed: all integers as int64, literals as their types."""
    return types.int64 if isinstance(kind, types.Integer) else types.unliteral(kind)


class Apart:
    """A function compiled on its own; takes structures, contiguous arrays and integers.

    Compiled code calls it by ``call(address, *arguments)``, Python as any function. It must not
    make arrays.
    """

    def __init__(self, function: Callable[..., Any], returns: Any = types.none) -> None:
        self._dispatcher = borrowing(function)
        self._addresses: dict[Any, int] = {}

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address, *values = arguments
            kinds = signature.args[1:]
            convention = context.call_conv
            pointer = convention.get_function_type(returns, kinds).as_pointer()
            function = builder.inttoptr(address, pointer)
            # The status is not checked: these functions raise nothing.
            _, result = convention.call_function(builder, function, returns, kinds, values)
            return result

        def call(typing, address, *arguments):
            return returns(types.int64, *map(_argument, arguments)), generate

        # Numba reads the number of arguments from the signature.
        names = ["typing", "address", *inspect.signature(function).parameters]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(name, kind) for name in names]
        )
        self.call = intrinsic(call)

    def __call__(self, *arguments: Any) -> Any:
        """Call the function from Python."""
        return self._dispatcher(*arguments)

    def address(self, *kinds: Any) -> int:
        """The address of the function for arguments of these types, compiled if necessary."""
        if kinds not in self._addresses:
            self._dispatcher.compile(kinds)
            found = self._dispatcher.overloads[kinds]
            name = found.fndesc.llvm_func_name
            self._addresses[kinds] = int(found.library.get_pointer_to_function(name))
        return self._addresses[kinds]


def kind_of(structure: Structure) -> StructureType:
    return structure._numba_type_
