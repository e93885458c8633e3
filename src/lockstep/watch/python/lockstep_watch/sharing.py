"""How many ranks compute each example together: tensor parallelism divides layers, not batches, so
that a batch is seen by several ranks and must be counted once."""

from __future__ import annotations

from typing import Any

# Of the dimensions of a device mesh, as scripts name them.
_SHARING = ("tp", "tensor", "tensor_parallel", "model", "mp")


def ranks_per_example(network: Any) -> int:
    """By the placement of its parameters (DTensor). 1 for networks without any."""
    sharded = any(type(module).__name__.startswith("FSDP") for module in network.modules())
    return max((_of_parameter(one, sharded) for one in network.parameters()), default=1)


def _of_parameter(parameter: Any, sharded: bool) -> int:
    """`sharded`: FSDP has divided the network among the ranks that divide the data."""
    mesh = getattr(parameter, "device_mesh", None)
    if mesh is None:
        return 1
    names = getattr(mesh, "mesh_dim_names", None)
    if names and any(name in _SHARING for name in names):
        count = 1
        for position, name in enumerate(names):
            if name in _SHARING:
                count *= int(mesh.size(position))
        return count
    if not sharded:
        replicated = all(placement.is_replicate() for placement in parameter.placements)
        return 1 if replicated else int(mesh.size())
    # The ranks of FSDP come first. If these replicate, they are of its hybrid form.
    if mesh.ndim > 1 and not parameter.placements[0].is_replicate():
        return int(mesh.size(mesh.ndim - 1))
    return 1
