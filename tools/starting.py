"""Starts a program by its name: one of the benchmarks, or one of the tools.

A program is a module with a function `main`, anywhere in its package. Its name is that of the module, with dashes. Only
the module that is asked for is imported.
"""

import ast
import os
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Program:
    """A module that can be started, and the first sentence of its docstring."""

    module: str
    summary: str


def find_programs(package: str) -> dict[str, Program]:
    """Returns the programs of a package by their names."""
    programs = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
            name = path.stem.replace("_", "-")
            if name in programs:
                raise ValueError(f"two programs are called {name}")
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            programs[name] = Program(module, (ast.get_docstring(tree) or "").partition("\n\n")[0].replace("\n", " "))
    return programs


def run_named(package: str) -> None:
    """Runs the program that the command line names, with the arguments after it. Without a name, lists all."""
    programs = find_programs(package)
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in ("", "-h", "--help"):
        width = max(map(len, programs))
        for program_name, program in sorted(programs.items()):
            print(f"{program_name:{width}}  {program.summary}")
        print(f"\n`./run {package} NAME --help` lists the options of one.")
        return
    if name not in programs:
        sys.exit(f"There is no program {name!r}; `./run {package}` lists all.")
    sys.argv = [f"./run {package} {name}", *sys.argv[2:]]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    import_module(programs[name].module).main()
