#include "lockstep/train/sync/device_settings.h"

#include <ATen/Context.h>

#include <cstdlib>

namespace lockstep::train {

void set_device_environment(const record::RunSpec& spec) {
  if (!spec.deterministic) return;
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  // Sums inside the switch of a host (NVLS) are made in any order.
  ::setenv("NCCL_ALGO", "^NVLS", /*overwrite=*/0);
}

void apply_device_settings(record::RunSpec& spec) {
  const bool gpu = spec.device == "cuda";
  spec.tf32 = spec.tf32 && gpu;
  spec.channels_last = spec.channels_last && gpu && spec.amp;  // for tensor cores
  spec.cudnn_benchmark = spec.cudnn_benchmark && gpu && !spec.deterministic;
  at::Context& context = at::globalContext();
  if (gpu) {
    context.setAllowTF32CuBLAS(spec.tf32);
    context.setAllowTF32CuDNN(spec.tf32);
    context.setBenchmarkCuDNN(spec.cudnn_benchmark);
  }
  if (spec.deterministic) {
    context.setDeterministicCuDNN(true);
    context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  }
}

void use_channels_last(torch::nn::Module& network) {
  constexpr std::int64_t kDimensionsOfAnImage = 4;
  for (auto& parameter : network.parameters()) {
    if (parameter.dim() != kDimensionsOfAnImage) continue;
    parameter.set_data(parameter.data().contiguous(torch::MemoryFormat::ChannelsLast));
  }
}

}  // namespace lockstep::train
