#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lockstep/comm/communicator.h"

namespace lockstep::library {

/// Makes one network the same on all ranks, and keeps it so where gradients do not.

/// Each tensor of the module once, parameters before buffers, with its name.
struct ModuleTensor {
  std::string name;
  torch::Tensor tensor;
  bool parameter = false;
};
std::vector<ModuleTensor> tensors_of(const torch::nn::Module& module);

/// Throws kUsage where the ranks sum on GPUs and the network is not on this rank's, `own`.
void require_own_device(torch::Device network, torch::Device own, const std::string& title,
                        const comm::Communicator& communicator);

/// Throws kUsage, the same on every rank, unless all have the same tensors by name, shape, type and
/// whether they are trained. Collective.
void require_same_tensors(const std::vector<ModuleTensor>& tensors, const std::string& title,
                          comm::Communicator& communicator);

/// Gives all ranks the values of `root`. Collective.
void broadcast_values(std::span<const torch::Tensor> tensors, int root,
                      comm::Communicator& communicator);

/// Floats that carry the bytes of the tensors exactly through a sum in which all other ranks add
/// zeros: 16 bits in each.
std::size_t floats_for(std::span<const torch::Tensor> tensors);
void encode_bytes(std::span<const torch::Tensor> tensors, std::span<float> floats);
void decode_bytes(std::span<const float> floats, std::span<const torch::Tensor> tensors);
/// The same where all of them are on one GPU: the host waits for nothing.
void encode_bytes(std::span<const torch::Tensor> tensors, const torch::Tensor& floats);
void decode_bytes(const torch::Tensor& floats, std::span<const torch::Tensor> tensors);

}  // namespace lockstep::library
