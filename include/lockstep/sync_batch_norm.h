#pragma once

#include <torch/torch.h>

#include <optional>

#include "lockstep/job.h"

namespace lockstep {

/// Batch norm over the batches of all ranks together, for inputs N x C x ... while training; in
/// evaluation the same as torch::nn::BatchNorm1d to 3d, whose names of parameters and buffers it
/// has. Forward and backward are collective: every rank runs them equally often.
class SyncBatchNormImpl : public torch::nn::Module {
 public:
  SyncBatchNormImpl(const Job& job, const torch::nn::BatchNormOptions& options);
  torch::Tensor forward(const torch::Tensor& input);

  torch::nn::BatchNormOptions options;
  torch::Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 private:
  Job job_;
};
TORCH_MODULE(SyncBatchNorm);

/// The same network with SyncBatchNorm in place of each BatchNorm1d to 3d, parameters and buffers
/// shared. LibTorch calls the members of other modules directly, so they cannot be exchanged from
/// outside: use SyncBatchNorm there. Convert before DataParallel and before the optimizer.
torch::nn::Sequential convert_sync_batch_norm(const torch::nn::Sequential& network, const Job& job);

}  // namespace lockstep
