"""Ranks that compute examples together, by stand-ins for the DTensors of a network."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

from lockstep_watch.sharing import ranks_per_example  # noqa: E402
from lockstep_watch.writer import Writer  # noqa: E402


class Mesh:
    def __init__(self, *sizes, names=None):
        self.sizes, self.mesh_dim_names, self.ndim = sizes, names, len(sizes)

    def size(self, dimension=None):
        if dimension is not None:
            return self.sizes[dimension]
        total = 1
        for size in self.sizes:
            total *= size
        return total


class Placement:
    def __init__(self, replicates):
        self.replicates = replicates

    def is_replicate(self):
        return self.replicates


SHARD, REPLICATE = Placement(False), Placement(True)


class Parameter:
    def __init__(self, mesh=None, *placements):
        if mesh is not None:
            self.device_mesh, self.placements = mesh, placements


class Network:
    def __init__(self, *parameters):
        self._parameters = parameters

    def parameters(self):
        return iter(self._parameters)

    def modules(self):
        return iter([self])


class FSDPNetwork(Network):
    """As fully_shard() renames the class of a module."""


class RanksPerExample(unittest.TestCase):
    def test_of_networks_without_placement_is_one(self):
        self.assertEqual(ranks_per_example(Network(Parameter())), 1)
        self.assertEqual(ranks_per_example(Network()), 1)

    def test_of_tensor_parallelism_is_its_mesh(self):
        self.assertEqual(ranks_per_example(Network(Parameter(), Parameter(Mesh(4), SHARD))), 4)

    def test_of_replicas_is_one(self):
        self.assertEqual(ranks_per_example(Network(Parameter(Mesh(4), REPLICATE))), 1)

    def test_of_fsdp_is_one(self):
        self.assertEqual(ranks_per_example(FSDPNetwork(Parameter(Mesh(4), SHARD))), 1)
        self.assertEqual(ranks_per_example(FSDPNetwork(Parameter(Mesh(2, 4), REPLICATE, SHARD))), 1)

    def test_of_fsdp_with_tensor_parallelism_is_the_latter(self):
        self.assertEqual(ranks_per_example(FSDPNetwork(Parameter(Mesh(2, 4), SHARD, SHARD))), 4)
        named = Mesh(8, 2, names=("dp", "tp"))
        self.assertEqual(ranks_per_example(FSDPNetwork(Parameter(named, SHARD, REPLICATE))), 2)

    def test_divide_what_each_counts(self):
        writer = Writer(None, "/nowhere")
        writer.sharing = 2
        writer.describe_data({"workers": 0, "batch": 8, "batches": 10}, None)
        self.assertEqual(writer.facts["loader"]["batch"], 4)
        self.assertIsNone(writer._share(7))
        self.assertIsNone(writer._share(None))


if __name__ == "__main__":
    unittest.main()
