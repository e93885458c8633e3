#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

namespace lockstep::nets {

/// Named tensors of a network, in the order of the file.
struct StateEntry {
  std::string name;
  torch::Tensor tensor;
};
using State = std::vector<StateEntry>;

enum class ModelFileKind {
  kState,        ///< of torch.save
  kTorchScript,  ///< of torch.jit.save
};

/// Content of a file written by PyTorch. Throws kData, with what to do, for a file that is missing,
/// damaged, or in the format from before PyTorch 1.6.
ModelFileKind kind_of_model_file(const std::string& path);

/// Reads a file of torch.save(model.state_dict()), of torch.save of a plain dictionary of tensors,
/// of a dictionary that has such a one under "state_dict" or "model", or a checkpoint of Lockstep.
/// A prefix "module." that DataParallel put before every name is dropped. Runs no code of the file,
/// and never ends the process. Throws kData for anything else.
State read_state_file(const std::string& path);

/// Copies the tensors of `state` whose names begin with `prefix` into the parameters and buffers of
/// `module`, which are called the same without it. Throws kData, naming `path` and the first
/// difference, unless all of these are there with their shapes and no others.
void copy_state(const State& state, const std::string& prefix, torch::nn::Module& module,
                const std::string& path);

}  // namespace lockstep::nets
