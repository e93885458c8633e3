"""That the import of a framework is noticed, however it is found."""

import glob
import importlib.util
import os
import re
import subprocess
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


class BrokenFrameworks(unittest.TestCase):
    def test_fail_with_the_traceback_they_have_without_the_watcher(self):
        watcher = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python")
        with tempfile.TemporaryDirectory() as own:
            for name, text in (
                    ("torch.py", "import torch_part\n"),
                    ("torch_part.py", "raise RuntimeError('libcudart is not there')\n"),
                    ("train.py", "import torch\n")):
                with open(os.path.join(own, name), "w") as file:
                    file.write(text)
            errors = []
            for path, folder in ((own, ""), (watcher + os.pathsep + own, own)):
                environment = dict(os.environ, PYTHONPATH=path, LOCKSTEP_WATCH_DIR=folder,
                                   PYTHONDONTWRITEBYTECODE="1")
                ran = subprocess.run([sys.executable, os.path.join(own, "train.py")], env=environment,
                                     stderr=subprocess.PIPE)
                self.assertEqual(ran.returncode, 1)
                errors.append(ran.stderr.decode())
            self.assertIn("libcudart is not there", errors[0])
            self.assertEqual(errors[1], errors[0])


def pythons():
    """This one, and all others that are installed."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    folders += glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin"))
    found = [path for folder in folders for path in glob.glob(os.path.join(folder, "python[23].*"))]
    named = re.compile(r"python[23]\.\d+$")
    return [sys.executable] + [path for path in found if named.search(path)]


class OtherPythons(unittest.TestCase):
    """That any Python starts as it would without the watcher; those before 3.7 say why not."""

    PROGRAM = "import sys; sys.stdout.write('%s %s' % (len(sys.path), sys.argv)); sys.exit(3)"

    def outcome(self, python, path, **variables):
        environment = dict(os.environ, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1", **variables)
        ran = subprocess.run(
            [python, "-c", self.PROGRAM, "word"], env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        return ran.returncode, ran.stdout, ran.stderr

    def test_each_starts_as_without_the_watcher(self):
        watcher = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python")
        with tempfile.TemporaryDirectory() as own:
            with open(os.path.join(own, "sitecustomize.py"), "w") as file:
                file.write("import sys; sys.stdout.write('mine ')\n")
            for python in pythons():
                bare = self.outcome(python, own)
                if bare[0] != 3:
                    continue  # a stub, without a Python behind it
                watched = self.outcome(
                    python, watcher + os.pathsep + own, LOCKSTEP_WATCH_DIR=own)
                self.assertTrue(bare[1].startswith(b"mine "), (python, bare))
                self.assertEqual(watched[:2], bare[:2], python)
                self.assertIn(
                    watched[2], (b"", b"lockstep: not watching: this Python is older than 3.7\n"))
            # Each Python has left its mark, as none would with -I or -E, and nothing else.
            left = sorted(name.split("-")[0] for name in os.listdir(own))
            self.assertEqual(set(left), {"python", "sitecustomize.py"})
            self.assertEqual(left.count("sitecustomize.py"), 1)


if __name__ == "__main__":
    unittest.main()
