#pragma once

#include <torch/script.h>

#include <string>

#include "lockstep/nets/networks/network.h"

namespace lockstep::nets {

/// A TorchScript module as a network: its parameters and buffers are this network's, under the same
/// names, so that it is trained, checkpointed and kept alike on all ranks as any other.
///
/// It runs without the optimisations of LibTorch's graph executor. These set in after some calls
/// and change roundings, and a run that is resumed would then not end with the same bits.
class ScriptNetwork final : public Network {
 public:
  /// Throws kData for a file that is not a TorchScript module, has no parameters, or whose
  /// parameters are not 32-bit floats.
  explicit ScriptNetwork(const std::string& path);

  /// Throws kData when the module does not take images of this shape or does not return one tensor.
  torch::Tensor forward(const torch::Tensor& images) override;

  void train(bool on = true) override;

  /// Writes the module with its present parameters so that torch.jit.load of Python and C++ reads
  /// it. The file is replaced in one move. Throws kData when it cannot be written.
  void save(const std::string& path) const;

 private:
  std::string path_;
  torch::jit::Module module_;
  torch::jit::Module pristine_;  ///< the code and the memory layout that the file had
};

}  // namespace lockstep::nets
