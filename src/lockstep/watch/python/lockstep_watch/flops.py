"""Floating-point operations of one step: matrix products and convolutions of layers with weights,
forward and backward. Attention scores, normalisation and activations are not counted, as is usual
for the utilisation of a model."""

from __future__ import annotations

from typing import Any, Optional


class FlopCounter:
    """Sees every module that is called in the forward passes of one step."""

    def __init__(self, torch: Any) -> None:
        nn = torch.nn
        self.total = 0
        self.unknown = False  # a layer whose work cannot be derived from its weights
        self._linear = nn.Linear
        self._convolutions = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
        self._transposed = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
        self._recurrent = nn.RNNBase
        self._attention = nn.MultiheadAttention
        self._free = (nn.Embedding, nn.EmbeddingBag)
        self._parallel = nn.DataParallel

    def add(self, module: Any, args: Any, result: Any) -> None:
        direct = [weight for weight in module._parameters.values() if weight is not None]
        if isinstance(module, self._parallel):
            self.unknown = True  # its copies run in threads
        elif not direct or isinstance(module, self._free):
            return
        elif isinstance(module, self._linear):
            self._product(module.weight, args, result.numel() * module.in_features)
        elif isinstance(module, self._convolutions):
            self._product(module.weight, args, result.numel() * module.weight[0].numel())
        elif isinstance(module, self._transposed):
            self._product(module.weight, args, args[0].numel() * module.weight[0].numel())
        elif isinstance(module, self._recurrent):
            rows = result[0].numel() // int(result[0].shape[-1])
            self._product(direct[0], args, rows * sum(w.numel() for w in direct if w.dim() == 2))
        elif isinstance(module, self._attention):
            rows = result[0].numel() // int(result[0].shape[-1])
            weights = [w.numel() for w in direct if w.dim() == 2]
            self._product(direct[0], args, rows * (sum(weights) + module.out_proj.weight.numel()))
        elif type(module).__name__ == "Conv1D" and module.weight.dim() == 2:  # of transformers
            self._product(module.weight, args, args[0].numel() * int(module.weight.shape[1]))
        elif any(weight.dim() == 2 or weight.dim() > 3 for weight in direct):
            self.unknown = True

    def _product(self, weight: Any, args: Any, multiplications: int) -> None:
        """Backward repeats the product for each gradient that is asked for."""
        passes = 1 + bool(weight.requires_grad) + bool(args and args[0].requires_grad)
        self.total += 2 * passes * multiplications

    def per_example(self, examples: Optional[int]) -> Optional[float]:
        if self.unknown or not self.total or not examples:
            return None
        return self.total / examples
