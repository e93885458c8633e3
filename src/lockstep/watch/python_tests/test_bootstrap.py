"""That the import of a framework is noticed, however it is found."""

import importlib.util
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

from lockstep_watch import bootstrap  # noqa: E402

NAME = "lockstep_test_framework"


class Imports(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, NAME + ".py")
        with open(self.path, "w") as file:
            file.write("value = 1\n")
        self.addCleanup(setattr, sys, "meta_path", list(sys.meta_path))
        self.addCleanup(sys.modules.pop, NAME, None)
        self.addCleanup(os.environ.pop, "LOCKSTEP_WATCH_DIR", None)
        os.environ["LOCKSTEP_WATCH_DIR"] = self.folder.name
        self.installed = []
        self.finder = bootstrap._Finder(NAME, lambda module, _: self.installed.append(module.value))
        sys.meta_path.insert(0, self.finder)

    def import_it(self):
        __import__(NAME)
        self.assertEqual(self.installed, [1])
        self.assertNotIn(self.finder, sys.meta_path)

    def test_one_that_was_looked_for_before(self):
        self.addCleanup(setattr, sys, "path", list(sys.path))
        sys.path.append(self.folder.name)
        self.assertIsNotNone(importlib.util.find_spec(NAME))
        self.assertEqual(self.installed, [])
        self.import_it()

    def test_one_of_a_finder_of_its_own(self):
        """As of an editable installation."""
        path = self.path

        class Editable:
            @staticmethod
            def find_spec(name, folders=None, target=None):
                return importlib.util.spec_from_file_location(NAME, path) if name == NAME else None

        sys.meta_path.append(Editable)
        self.import_it()

    def test_one_whose_first_import_fails(self):
        self.addCleanup(setattr, sys, "path", list(sys.path))
        sys.path.append(self.folder.name)
        with open(self.path, "w") as file:
            file.write("raise ImportError('not today')\n")
        with self.assertRaises(ImportError):
            __import__(NAME)
        with open(self.path, "w") as file:
            file.write("value = 1  # of another length\n")
        self.import_it()

    def test_one_that_is_not_there(self):
        with self.assertRaises(ModuleNotFoundError):
            __import__(NAME)
        self.assertEqual(self.installed, [])


if __name__ == "__main__":
    unittest.main()
