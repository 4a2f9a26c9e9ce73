"""Lets Python import modules whose texts are in memory."""
import importlib.abc
import importlib.util
import sys


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of a table of texts."""

    def __init__(self, texts):
        self.texts = texts

    def find_spec(self, name, path=None, target=None):
        if name in self.texts:
            return importlib.util.spec_from_loader(name, self, origin=f"<proofmark>/{name}.py")
        return None

    def exec_module(self, module):
        module.__file__ = f"<proofmark>/{module.__name__}.py"
        exec(compile(self.texts[module.__name__], module.__file__, "exec"), module.__dict__)


